//! The node selector or the node affinity of a pending pod matches no node with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{label_difference, requirement_text};
use super::pods::report_pod;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7504",
        name: "pod-labels-unmatched",
        severity: Severity::Error,
        summary: "the node selector or the node affinity of a pending pod matches no node with GPUs",
        checks: "Whether the node selector and the required node affinity of each pending pod that requests GPUs \
match a node that has these GPUs.",
        reason: "The scheduler places the pod on no other nodes. Its message names neither the label nor the value \
that differs.",
        remedy: "Change the node selector or the affinity of the pod, or set the label on the nodes. Labels that a \
person sets on a single node are lost when the node is replaced: set them in the pool.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true", gpu-model: h100}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeSelector: {gpu-model: H100}
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
"#,
        correction: Correction::Replace(
            "nodeSelector: {gpu-model: H100}",
            "nodeSelector: {gpu-model: h100}",
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in stuck_pods(ctx) {
        let Verdict::Unmatched { nearest } = &pending.obstacles.verdict else {
            continue;
        };
        let Some(node) = ctx.state.node(&nearest.name) else {
            continue;
        };
        let Some((requirement, is_expression)) = label_difference(&pending.obstacles.demand, node)
        else {
            continue;
        };
        let key = &requirement.key;
        let actual = node.metadata.label(key);
        let wanted = requirement_text(requirement, is_expression);
        let what = if is_expression {
            "node affinity"
        } else {
            "node selector"
        };
        let difference = match actual {
            Some(actual) => format!("the nearest node has the value `{actual}`"),
            None => "the nearest node does not have the label".to_owned(),
        };
        let message = format!(
            "the {what} of the pod matches no node with GPUs: it requires `{wanted}`, but {difference}"
        );
        let path = format!("metadata.labels[\"{key}\"]");
        let mut facts = ctx.nodes.iter();
        let facts = facts.find(|it| it.name() == nearest.name);
        let pool = facts.and_then(NodeFacts::pool_span);
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        findings.push(
            report_pod(ctx, &CHECK, pending, message)
                .field(nearest.clone(), &path, actual.unwrap_or("absent"))
                .field(object, &format!("spec ({what})"), wanted)
                .input(pool)
                .help(format!(
                    "correct the {what} in the pod's template, or set the label `{key}` in the pool of the nodes"
                ))
                .command(format!("kubectl get nodes --label-columns {key}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::codes;

    fn cluster(spec: &str) -> String {
        let node = |name: &str, labels: &str, gpus: u32| {
            format!(
                r#"{{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "{name}", "labels": {{{labels}}}}},
                  "status": {{"capacity": {{"nvidia.com/gpu": "{gpus}"}},
                    "allocatable": {{"pods": "9", "nvidia.com/gpu": "{gpus}"}},
                    "conditions": [{{"type": "Ready", "status": "True"}}]}}}}"#
            )
        };
        let nodes = [
            node("a", r#""zone": "z1", "model": "h100""#, 8),
            node("b", r#""zone": "z2", "model": "a100""#, 8),
            node("c", r#""zone": "z3", "model": "l4""#, 1),
        ];
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [{},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "train-0", "namespace": "ml"}},
                "spec": {{{spec}, "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "4"}}}}}}]}},
                "status": {{"phase": "Pending"}}}}]}}"#,
            nodes.join(",")
        )
    }

    #[test]
    fn the_nearest_difference_is_named() {
        let selector = r#""nodeSelector": {"zone": "z2", "model": "h200"}"#;
        let (found, text) = codes(&cluster(selector));
        assert_eq!(found, ["GPUC7504"], "{text}");
        assert!(text.contains("requires `model: h200`"), "{text}");
        assert!(text.contains("has the value `a100`"), "{text}");
    }

    #[test]
    fn affinities_are_compared() {
        let affinity = |terms: &str| {
            cluster(&format!(
                r#""affinity": {{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution":
                  {{"nodeSelectorTerms": [{terms}]}}}}}}"#
            ))
        };
        let of = |operator: &str, values: &str| {
            format!(
                r#"{{"matchExpressions": [{{"key": "model", "operator": "{operator}", "values": {values}}}]}}"#
            )
        };
        let (found, text) = codes(&affinity(&of("In", r#"["h200", "b200"]"#)));
        assert_eq!(found, ["GPUC7504"], "{text}");
        assert!(text.contains("`model In [h200, b200]`"), "{text}");
        assert!(codes(&affinity(&of("NotIn", r#"["h100"]"#))).0.is_empty());
        let any = format!("{}, {}", of("In", r#"["b200"]"#), of("Exists", "[]"));
        assert!(codes(&affinity(&any)).0.is_empty());
        // A node with the label, but not with four GPUs.
        let (found, text) = codes(&affinity(&of("In", r#"["l4"]"#)));
        assert_eq!(found, ["GPUC7502"], "{text}");
        // Terms that gpuc cannot explain are not reported.
        let name =
            r#"{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}"#;
        assert!(codes(&affinity(name)).0.is_empty());
        assert!(codes(&affinity("{}")).0.is_empty());
    }
}
