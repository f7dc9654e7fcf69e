//! A Workload requests more than its ClusterQueue can ever have.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::workloads::{Obstacle, blocked_workloads};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7610",
        name: "workload-too-large",
        severity: Severity::Error,
        summary: "a Workload of Kueue requests more than its ClusterQueue can ever have",
        checks: "Whether each Workload of Kueue that waits for quota fits in its ClusterQueue with all that the \
queue can borrow.",
        reason: "The Workload waits indefinitely, although nothing says that it fails: its pods do not exist, and its \
Job is suspended.",
        remedy: "Request less, use fewer parallel pods, or raise `nominalQuota` or `borrowingLimit` of the \
ClusterQueue.",
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
            insufficient quota for nvidia.com/gpu in flavor h100,
            previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)
"#,
        correction: Correction::Replace(
            "insufficient quota for nvidia.com/gpu in flavor h100,
            previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)",
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
        let Obstacle::TooLarge {
            resource,
            flavor,
            requested,
            capacity,
        } = &blocked.obstacle
        else {
            continue;
        };
        let message = format!(
            "the Workload requests {requested} `{resource}`, but its ClusterQueue can have at most {capacity} of the \
             flavor `{flavor}`"
        );
        let help = format!(
            "request at most {capacity} `{resource}` in all pods together, or raise the quota of the flavor `{flavor}`"
        );
        findings.push(blocked.report(&CHECK, ctx, message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, list_objects};

    fn workload(time: &str, more: &str, conditions: &str) -> String {
        format!(
            r#"{{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
              "metadata": {{"name": "w", "namespace": "ml", "creationTimestamp": "2026-11-28T{time}Z"}},
              "spec": {{"queueName": "team"{more}}}, "status": {{"conditions": [{conditions}]}}}}"#
        )
    }

    const LARGE: &str = r#"{"type": "QuotaReserved", "status": "False", "message": "couldn't assign flavors to pod set
      a: insufficient quota for nvidia.com/gpu in flavor f, previously considered podsets requests (0) + current podset
      request (9) > maximum capacity (8)"}"#;

    #[test]
    fn workloads_that_do_not_wait_are_silent() {
        let large = LARGE.replace("\n     ", "");
        let node = crate::doctor::testing::HEALTHY_NODE;
        let with = |kind: &str| format!(r#"{{"type": "{kind}", "status": "True"}}, {large}"#);
        for (time, more, conditions, expected) in [
            ("11:00:00", "", large.clone(), 1),
            ("11:59:30", "", large.clone(), 0),
            ("11:00:00", r#", "active": false"#, large.clone(), 0),
            ("11:00:00", "", with("Finished"), 0),
            ("11:00:00", "", with("Admitted"), 0),
            ("11:00:00", "", large.replace("False", "True"), 0),
            ("11:00:00", "", String::new(), 0),
        ] {
            let workload = workload(time, more, &conditions);
            let (found, text) = codes(&list_objects(&[node, &workload]));
            assert_eq!(found.len(), expected, "{conditions}: {text}");
        }
    }
}
