//! No domain of a topology is large enough for a Workload.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::workloads::{Obstacle, blocked_workloads};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7616",
        name: "topology-too-small",
        severity: Severity::Error,
        summary: "no domain of a topology is large enough for a Workload, although no pod uses GPUs",
        checks: "Whether the pods of each waiting Workload of Kueue fit in a domain of its topology, such as a \
rack, while no pod uses GPUs and Kueue has admitted no other Workload.",
        reason: "The Workload waits indefinitely. Nodes without the labels of the levels, or with taints that the \
flavor does not tolerate, do not belong to the topology.",
        remedy: "Set the labels of all levels of the Topology on the nodes, require a higher level with \
`kueue.x-k8s.io/podset-required-topology`, or use `kueue.x-k8s.io/podset-preferred-topology`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: coredns-x, namespace: kube-system}
    spec: {nodeName: gpu-1, containers: [{name: coredns, image: "registry.k8s.io/coredns/coredns:v1.13.1"}]}
    status: {phase: Running}
  - apiVersion: kueue.x-k8s.io/v1beta1
    kind: Workload
    metadata: {name: job-train, namespace: ml}
    spec: {queueName: team}
    status:
      conditions:
        - type: QuotaReserved
          status: "False"
          reason: Pending
          message: >-
            couldn't assign flavors to pod set main:
            topology "racks"
            allows to fit only 1 out of 4 pod(s). Total nodes: 4; excluded: nodeLabel "rack": 3
"#,
        correction: Correction::Replace(
            r#"topology "racks"
            allows to fit only 1 out of 4 pod(s). Total nodes: 4; excluded: nodeLabel "rack": 3"#,
            "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed",
        ),
    },
    layer: Layer::Quota,
    is_symptom: true,
    needs: &[Kind::Workload, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let pods = ctx.state.completeness(Kind::Pod);
    let workloads = ctx.state.completeness(Kind::Workload);
    // While others use the nodes, the Workload may only wait.
    if !pods.is_complete() || !workloads.is_complete() || is_in_use(ctx) {
        return;
    }
    for blocked in blocked_workloads(ctx) {
        let Obstacle::Topology {
            topology,
            fitting,
            total,
        } = &blocked.obstacle
        else {
            continue;
        };
        let message = format!(
            "only {fitting} of {total} pods of the Workload fit in a domain of the topology `{topology}`, although no \
             pod uses GPUs"
        );
        findings.push(blocked.report(&CHECK, ctx, message).help(format!(
            "set the labels of all levels of the Topology `{topology}` on the nodes, or require a higher level"
        )));
    }
}

/// Whether a pod uses GPUs, or a Workload is admitted.
fn is_in_use(ctx: &Context<'_>) -> bool {
    let mut usage = ctx.usage().values().flatten();
    let mut workloads = ctx.state.objects(Kind::Workload).iter();
    usage.any(|(resource, amount)| resource.starts_with("nvidia.com/") && *amount > 0)
        || workloads.any(|workload| {
            let is_true = |kind| workload.condition(kind).is_some_and(|it| it.is_true());
            is_true("QuotaReserved") && !is_true("Finished")
        })
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    const WORKLOAD: &str = r#"{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
      "metadata": {"name": "w", "namespace": "ml"},
      "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
        "message": "couldn't assign flavors to pod set a: topology \"t\" doesn't allow to fit any of 4 pod(s)"}]}}"#;

    fn pod(namespace: &str, amount: &str) -> String {
        format!(
            r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "p", "namespace": "{namespace}"}},
              "spec": {{"nodeName": "gpu-1", "containers": [{{"resources": {{"limits": {{{amount}}}}}}}]}},
              "status": {{"phase": "Running"}}}}"#
        )
    }

    #[test]
    fn workloads_wait_for_other_pods() {
        let other = WORKLOAD
            .replace(r#""w""#, r#""v""#)
            .replace("False", "True");
        for (pod, other, expected) in [
            (pod("kube-system", r#""cpu": "1""#), "{}", 1),
            (pod("kube-system", r#""nvidia.com/gpu": "1""#), "{}", 0),
            (pod("kube-system", r#""cpu": "1""#), other.as_str(), 0),
            // The list of pods is not complete.
            (pod("ml", r#""cpu": "1""#), "{}", 0),
        ] {
            let objects = [HEALTHY_NODE, WORKLOAD, &pod, other];
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found.len(), expected, "{text}");
        }
    }
}
