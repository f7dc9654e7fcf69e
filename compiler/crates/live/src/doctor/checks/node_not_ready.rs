//! A node with GPUs is not ready.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::is_removal_taint;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7101",
        name: "node-not-ready",
        severity: Severity::Error,
        summary: "a node with GPUs is not ready",
        checks: "Whether the condition `Ready` of each node with GPUs is `True`.",
        reason: "The scheduler places no pods on a node that is not ready, and its pods are evicted after 5 minutes.",
        remedy: "Read the message of the condition. `Unknown` means that the kubelet does not report: the machine is \
stopped, has no network, or has no memory left. `False` names the component that does not work, such as the network \
plugin.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - {type: Ready, status: "False", reason: KubeletNotReady, message: "container runtime network not ready"}
"#,
        correction: Correction::Replace(
            r#"status: "False", reason: KubeletNotReady, message: "container runtime network not ready""#,
            r#"status: "True", reason: KubeletReady, message: "kubelet is posting ready status""#,
        ),
    },
    layer: Layer::Node,
    is_symptom: false,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which a node that restarts becomes ready again, or is removed.
const SETTLE_SECONDS: u64 = 300;

/// The seconds in which a new node becomes ready.
const START_SECONDS: u64 = 900;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes() {
        let Some(ready) = node.node.condition("Ready").filter(|it| !it.is_true()) else {
            continue;
        };
        // Nodes start, and are removed.
        let taints = &node.node.spec.taints;
        let is_leaving = node.node.metadata.deletion_timestamp.is_some()
            || taints.iter().any(|taint| is_removal_taint(&taint.key));
        let is_recent = ctx
            .age(ready.last_transition_time)
            .is_some_and(|seconds| seconds < SETTLE_SECONDS);
        if is_leaving || is_recent || ctx.is_new(node, START_SECONDS) {
            continue;
        }
        let message = match ready.status.as_str() {
            "Unknown" => "the kubelet does not report: the node is not ready".to_owned(),
            _ => format!("the node is not ready: `{}`", ready.reason),
        };
        let finding = Finding::new(&CHECK.code, node.object(), message)
            .field(
                node.object(),
                "status.conditions[Ready].message",
                &ready.message,
            )
            .help("repair or replace the node; the message names the component that does not work")
            .command(format!("kubectl describe node {}", node.name()));
        findings.push(match ready.last_transition_time {
            Some(since) => finding.field(
                node.object(),
                "status.conditions[Ready].lastTransitionTime",
                since.to_string(),
            ),
            None => finding,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> Vec<&'static str> {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        assert!(objects.contains(from));
        codes(&objects.replacen(from, to, 1)).0
    }

    #[test]
    fn nodes_that_start_are_silent() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let times = "lastHeartbeatTime: \"2026-11-28T12:00:00Z\", lastTransitionTime: \"2026-11-28T11:50:00Z\", reason";
        let objects = objects.replacen("reason", times, 1);
        for (created, expected) in [
            ("2026-11-28T11:58:00Z", &[][..]),
            ("2026-11-28T11:00:00Z", &["GPUC7101"]),
        ] {
            let name = format!("metadata: {{creationTimestamp: \"{created}\", name: gpu-1");
            let objects = objects.replacen("metadata: {name: gpu-1", &name, 1);
            assert_eq!(codes(&objects).0, expected, "{created}");
        }
        let objects = objects.replacen("T11:50:00Z", "T11:58:00Z", 1);
        assert_eq!(codes(&objects).0, [""; 0]);
    }

    #[test]
    fn nodes_that_are_removed_are_silent() {
        for key in [
            "aws-node-termination-handler/spot-itn",
            "karpenter.sh/disrupted",
            "ToBeDeletedByClusterAutoscaler",
        ] {
            let taint =
                format!("spec: {{taints: [{{key: {key}, effect: NoSchedule}}]}}\n    status:");
            assert_eq!(check("status:", &taint), [""; 0], "{key}");
        }
        let taint = "spec: {taints: [{key: a, effect: NoSchedule}]}\n    status:";
        assert_eq!(check("status:", taint), ["GPUC7101"]);
    }
}
