//! A ClusterQueue admits no Workloads.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Condition, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7611",
        name: "cluster-queue-inactive",
        severity: Severity::Error,
        summary: "a ClusterQueue is not active",
        checks: "Whether the condition `Active` of each ClusterQueue is `True`. Queues that are stopped on purpose \
are not reported.",
        reason: "Kueue admits no Workload of the queue, and no Workload that borrows its quota: all of them wait.",
        remedy: "Create the ResourceFlavor, the Topology or the AdmissionCheck that the message names, or remove \
it from the ClusterQueue.",
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
    kind: ClusterQueue
    metadata: {name: team}
    status:
      conditions:
        - type: Active
          status: "False"
          reason: FlavorNotFound
          message: "Can't admit new workloads: references missing ResourceFlavor(s): h100."
"#,
        correction: Correction::Replace(
            r#"status: "False"
          reason: FlavorNotFound
          message: "Can't admit new workloads: references missing ResourceFlavor(s): h100.""#,
            r#"status: "True"
          reason: Ready
          message: "Can admit new workloads""#,
        ),
    },
    layer: Layer::Quota,
    is_symptom: false,
    needs: &[Kind::ClusterQueue],
    needs_logs: Logs::None,
    run,
};

/// The reasons of the condition `Active`, the problem, and what to do.
///
/// Source: kubernetes-sigs/kueue v0.19.2 `pkg/cache/scheduler/clusterqueue.go`, 2026-11-28.
static REASONS: &[(&str, &str, &str)] = &[
    (
        "FlavorNotFound",
        "a ResourceFlavor does not exist",
        "create the ResourceFlavor that the message names, or remove it from `spec.resourceGroups`",
    ),
    (
        "TopologyNotFound",
        "a Topology does not exist",
        "create the Topology that the message names, or remove `topologyName` from the ResourceFlavor",
    ),
    (
        "AdmissionCheckNotFound",
        "an AdmissionCheck does not exist",
        "create the AdmissionCheck that the message names, or remove it from the ClusterQueue",
    ),
    (
        "AdmissionCheckInactive",
        "an AdmissionCheck is not active",
        "correct the parameters of the AdmissionCheck that the message names, or start its controller",
    ),
];

/// The seconds in which the objects of a queue are created.
const START_SECONDS: u64 = 120;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for queue in ctx.state.objects(Kind::ClusterQueue) {
        let Some(condition) = queue.condition("Active").filter(Condition::is_false) else {
            continue;
        };
        let is_new = ctx
            .age(condition.last_transition_time)
            .is_some_and(|seconds| seconds < START_SECONDS);
        // Administrators stop queues on purpose.
        let is_intended = matches!(condition.reason.as_str(), "Stopped" | "Terminating")
            || queue.metadata.deletion_timestamp.is_some();
        if is_new || is_intended {
            continue;
        }
        let mut reasons = REASONS.iter();
        let found = reasons.find(|(reason, ..)| *reason == condition.reason);
        let (problem, help) = match found {
            Some((_, problem, help)) => ((*problem).to_owned(), *help),
            None => (
                format!("`{}`", condition.reason),
                "correct what the message of the condition `Active` names",
            ),
        };
        let object = ObjectRef::of_kind("ClusterQueue", &queue.metadata);
        let message = format!("the ClusterQueue admits no Workloads: {problem}");
        let command = format!(
            "kubectl describe clusterqueues.kueue.x-k8s.io {}",
            object.name
        );
        findings.push(
            Finding::new(&CHECK.code, object.clone(), message)
                .field(
                    object,
                    "status.conditions[Active].message",
                    condition.message,
                )
                .help(help)
                .command(command),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    fn queue(condition: &str) -> String {
        format!(
            r#"{{"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {{"name": "team"}},
              "status": {{"conditions": [{condition}]}}}}"#
        )
    }

    #[test]
    fn stopped_and_new_queues_are_silent() {
        let of = |status: &str, reason: &str, time: &str| {
            format!(
                r#"{{"type": "Active", "status": "{status}", "reason": "{reason}",
                  "lastTransitionTime": "2026-11-28T{time}Z"}}"#
            )
        };
        for (condition, expected) in [
            (of("False", "TopologyNotFound", "11:00:00"), 1),
            (of("False", "New", "11:00:00"), 1),
            (of("False", "TopologyNotFound", "11:59:00"), 0),
            (of("False", "Stopped", "11:00:00"), 0),
            (of("False", "Terminating", "11:00:00"), 0),
            (of("True", "Ready", "11:00:00"), 0),
            (String::new(), 0),
        ] {
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &queue(&condition)]));
            assert_eq!(found.len(), expected, "{condition}: {text}");
        }
    }

    #[test]
    fn the_queue_explains_its_workloads() {
        let queue = queue(r#"{"type": "Active", "status": "False", "reason": "FlavorNotFound"}"#);
        let local = r#"{"kind": "LocalQueue", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "local", "namespace": "ml"}, "spec": {"clusterQueue": "team"}}"#;
        let workload = r#"{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "w", "namespace": "ml"}, "spec": {"queueName": "local"},
          "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
            "message": "couldn't assign flavors to pod set a: resource cpu unavailable in ClusterQueue"}]}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &queue, local, workload]));
        assert_eq!(found, ["GPUC7611"], "{text}");
        assert!(text.contains("Workload ml/w"), "{text}");
    }
}
