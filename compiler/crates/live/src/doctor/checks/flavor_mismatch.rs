//! The pods of a Workload do not fit on the nodes of any flavor.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::workloads::{Obstacle, blocked_workloads};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7613",
        name: "flavor-mismatch",
        severity: Severity::Error,
        summary: "the pods of a Workload do not fit on the nodes of any ResourceFlavor of its ClusterQueue",
        checks: "Whether the pods of each waiting Workload of Kueue tolerate the taints of a ResourceFlavor of its \
ClusterQueue, and their node affinity matches its node labels.",
        reason: "The Workload waits indefinitely. The taints and labels of a ResourceFlavor are copies of those of the \
nodes, which nothing keeps up to date.",
        remedy: "Add the toleration to `spec.tolerations` of the ResourceFlavor, which adds it to the pods, or to \
the template of the pods. If the nodes do not have the taint or the label, correct the ResourceFlavor.",
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
            untolerated taint
            {nvidia.com/gpu present NoSchedule <nil>} in flavor h100
"#,
        correction: Correction::Replace(
            "untolerated taint
            {nvidia.com/gpu present NoSchedule <nil>} in flavor h100",
            "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed",
        ),
    },
    layer: Layer::Quota,
    is_symptom: true,
    needs: &[Kind::Workload],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for blocked in blocked_workloads(ctx) {
        let (message, help) = match &blocked.obstacle {
            Obstacle::Taint { taint, flavor } => (
                format!(
                    "the pods of the Workload do not tolerate the taint `{taint}` of the ResourceFlavor `{flavor}`"
                ),
                format!(
                    "add a toleration to `spec.tolerations` of the ResourceFlavor `{flavor}` or to the pod's template, \
                     or correct `spec.nodeTaints` of the ResourceFlavor"
                ),
            ),
            Obstacle::Affinity { flavor } => (
                format!(
                    "the node selector or affinity of the Workload does not match the labels of the ResourceFlavor \
                     `{flavor}`"
                ),
                format!(
                    "correct the node selector in the pod's template, or `spec.nodeLabels` of the ResourceFlavor \
                     `{flavor}`"
                ),
            ),
            _ => continue,
        };
        findings.push(blocked.report(&CHECK, ctx, message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    #[test]
    fn labels_are_compared() {
        let workload = r#"{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "w", "namespace": "ml"},
          "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
            "message": "couldn't assign flavors to pod set a: flavor h100 doesn't match node affinity"}]}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, workload]));
        assert_eq!(found, ["GPUC7613"], "{text}");
        assert!(
            text.contains("`spec.nodeLabels` of the ResourceFlavor `h100`"),
            "{text}"
        );
    }
}
