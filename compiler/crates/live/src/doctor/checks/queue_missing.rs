//! The queue of a Workload does not exist.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::workloads::{Obstacle, blocked_workloads};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7612",
        name: "queue-missing",
        severity: Severity::Error,
        summary: "the LocalQueue or the ClusterQueue of a Workload does not exist",
        checks: "Whether the LocalQueue of each waiting Workload of Kueue exists in its namespace, and whether the \
ClusterQueue of the LocalQueue exists.",
        reason: "The Workload waits indefinitely. A LocalQueue belongs to one namespace: the name of a queue in \
another namespace does not work.",
        remedy: "Correct the label `kueue.x-k8s.io/queue-name` of the Job, or create the queue.",
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
    kind: LocalQueue
    metadata: {name: default, namespace: ml}
    spec: {clusterQueue: team}
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
            LocalQueue team doesn't exist
"#,
        correction: Correction::Replace(
            "metadata: {name: default, namespace: ml}",
            "metadata: {name: team, namespace: ml}",
        ),
    },
    layer: Layer::Quota,
    is_symptom: true,
    needs: &[Kind::Workload, Kind::LocalQueue, Kind::ClusterQueue],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for blocked in blocked_workloads(ctx) {
        let Obstacle::QueueMissing { kind, name } = &blocked.obstacle else {
            continue;
        };
        let namespace = blocked.namespace();
        let found = match *kind {
            "LocalQueue" => ctx.state.object(Kind::LocalQueue, namespace, name),
            _ => ctx.state.object(Kind::ClusterQueue, "", name),
        };
        // Kueue considers the Workload again when the queue is created.
        if found.is_some() {
            continue;
        }
        let message = format!("the {kind} `{name}` of the Workload does not exist");
        let help = match *kind {
            "LocalQueue" => format!(
                "create the LocalQueue `{name}` in the namespace `{namespace}`, or correct the label \
                 `kueue.x-k8s.io/queue-name` of the Job"
            ),
            _ => format!(
                "create the ClusterQueue `{name}`, or correct `spec.clusterQueue` of the LocalQueue"
            ),
        };
        let mut own = ctx.state.objects(Kind::LocalQueue).iter();
        let mut finding = blocked.report(&CHECK, ctx, message).help(help);
        if let Some(queue) = own.find(|it| it.metadata.namespace == namespace) {
            let object = ObjectRef::of_kind("LocalQueue", &queue.metadata);
            finding = finding.field(
                object,
                "spec.clusterQueue",
                queue.text("/spec/clusterQueue"),
            );
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    #[test]
    fn cluster_queues_are_named() {
        let workload = r#"{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "w", "namespace": "ml"}, "spec": {"queueName": "local"},
          "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
            "message": "ClusterQueue team doesn't exist"}]}}"#;
        let local = r#"{"kind": "LocalQueue", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "local", "namespace": "ml"}, "spec": {"clusterQueue": "team"}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, workload, local]));
        assert_eq!(found, ["GPUC7612"], "{text}");
        assert!(text.contains("create the ClusterQueue `team`"), "{text}");
        let queue = r#"{"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "team"}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, workload, local, queue]));
        assert!(found.is_empty(), "{text}");
    }
}
