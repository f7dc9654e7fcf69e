//! A pool has no nodes, although its minimum is not 0.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::pool_ref;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7102",
        name: "pool-without-nodes",
        severity: Severity::Error,
        summary: "a pool with GPUs has no nodes",
        checks: "Whether each pool with GPUs whose minimum in `gpu-cluster.yaml` is at least one node has a node.",
        reason: "The cloud has no capacity, refuses the pool because of a quota, or creates machines that do not join \
the cluster. Or the nodes have other labels than the file says, so that no pod selects them. Nothing in the cluster \
reports nodes that do not exist.",
        remedy: "Run `cloud/verify.sh` of the tree: it prints the state of the pool in the cloud. Compare the labels \
of the nodes with the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: infer, machine: g6.2xlarge, nodes: {count: 2}}
--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: cpu-1, labels: {gpuc.dev/pool: system}}
    status: {conditions: [{type: Ready, status: "True"}]}
"#,
        correction: Correction::Replace(
            "items:\n",
            r#"items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {gpuc.dev/pool: infer}}
    status:
      capacity: {nvidia.com/gpu: "1"}
      allocatable: {nvidia.com/gpu: "1"}
      conditions: [{type: Ready, status: "True"}]
"#,
        ),
    },
    layer: Layer::Cloud,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pool in ctx.empty_pools() {
        let min = pool.nodes.get().map_or(0, |it| it.min);
        let selector: Vec<String> = (pool.selector.iter())
            .map(|it| format!("{}={}", it.key, it.value))
            .collect();
        let selector = selector.join(",");
        let object = pool_ref(pool);
        findings.push(
            Finding::new(
                &CHECK.code,
                object.clone(),
                "the pool has no nodes, although its minimum is not 0",
            )
            .field(object.clone(), "nodes.min", min.to_string())
            .field(object, &format!("nodes with {selector}"), "absent")
            .input(Some(pool.name.span))
            .help(
                "find out why the cloud creates no nodes, with `cloud/verify.sh` of the tree; if the nodes exist, \
compare their labels with the pool",
            )
            .command(format!("kubectl get nodes --selector {selector}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::diagnose_objects;
    use super::CHECK;

    #[test]
    fn pods_that_select_the_pool_wait_for_its_nodes() {
        let (configuration, objects) = gpuc_syntax::diag::split_objects(CHECK.code.bad).unwrap();
        let pod = |name: &str, selector: &str| {
            format!(
                "  - apiVersion: v1\n    kind: Pod\n    metadata: {{name: {name}, namespace: ml}}\n    spec: \
                 {{nodeSelector: {{{selector}}}, containers: [{{name: c, image: x, resources: {{limits: \
                 {{nvidia.com/gpu: \"1\"}}}}}}]}}\n    status: {{phase: Pending, conditions: [{{type: PodScheduled, \
                 status: \"False\", reason: Unschedulable, message: none}}]}}\n"
            )
        };
        let objects = format!(
            "{objects}{}{}",
            pod("own", "gpuc.dev/pool: infer"),
            pod("other", "gpuc.dev/pool: train")
        );
        let (diagnosis, text) = diagnose_objects(configuration, &objects);
        let cause = (diagnosis.causes.iter()).find(|it| it.finding.code.id == CHECK.code.id);
        let waiting: Vec<String> = (cause.unwrap().waiting_pods().iter())
            .map(|it| it.name.clone())
            .collect();
        assert_eq!(waiting, ["own"], "{text}");
    }

    #[test]
    fn an_incomplete_list_of_nodes_is_no_evidence() {
        let (configuration, objects) = gpuc_syntax::diag::split_objects(CHECK.code.bad).unwrap();
        // Only some nodes were read.
        let cut = objects.replace("kind: List\n", "kind: List\nmetadata: {continue: abc}\n");
        let (diagnosis, text) = diagnose_objects(configuration, &cut);
        assert!(diagnosis.causes.is_empty(), "{text}");
    }
}
