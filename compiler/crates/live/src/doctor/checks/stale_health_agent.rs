//! The health agent of EKS reports an error of its own, and the GPUs work.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Condition;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7403",
        name: "stale-health-agent",
        severity: Severity::Warning,
        summary: "the health agent of a node cannot reach DCGM, and the GPUs work",
        checks: "Whether the node monitoring agent of EKS reports an error of DCGM on a node whose GPUs are all \
allocatable.",
        reason: "The agent keeps the condition for days after it lost the connection to DCGM. Automatic repair \
replaces nodes with this condition, although their GPUs work.",
        remedy: "Check that DCGM runs on the node: its DaemonSet `dcgm-server` must tolerate the taints of the node. \
Then restart the agent's pod there.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - {type: Ready, status: "True"}
        - type: AcceleratedHardwareReady
          status: "False"
          reason: DCGMError
          message: "Host engine connection invalid/disconnected"
          lastTransitionTime: "2026-11-25T12:00:00Z"
"#,
        correction: Correction::Replace(
            r#"status: "False"
          reason: DCGMError
          message: "Host engine connection invalid/disconnected""#,
            r#"status: "True"
          reason: NvidiaAcceleratedHardwareIsReady"#,
        ),
    },
    layer: Layer::Health,
    is_symptom: false,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// Whether a condition reports an error of the agent's connection to DCGM, and all GPUs of the node are allocatable.
///
/// Source: aws/eks-node-monitoring-agent issue 266 and pull request 275, 2026-11-28.
pub(super) fn is_stale(node: &NodeFacts<'_>, condition: &Condition) -> bool {
    let is_agent = condition.kind == "AcceleratedHardwareReady"
        && condition.is_false()
        && condition.reason == "DCGMError";
    let gpus = || node.offered().filter(|(_, capacity, _)| *capacity > 0);
    is_agent
        && gpus().next().is_some()
        && gpus().all(|(_, capacity, allocatable)| allocatable >= capacity)
}

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for condition in &node.node.status.conditions {
            if !is_stale(node, condition) {
                continue;
            }
            let kind = &condition.kind;
            let path = |field: &str| format!("status.conditions[{kind}].{field}");
            let message =
                "the node monitoring agent reports an error of DCGM, but all GPUs are allocatable";
            let mut finding = Finding::new(&CHECK.code, node.object(), message).field(
                node.object(),
                &path("message"),
                &condition.message,
            );
            if let Some(since) = condition.last_transition_time {
                finding = finding.field(
                    node.object(),
                    &path("lastTransitionTime"),
                    since.to_string(),
                );
            }
            findings.push(
                finding
                    .help("check that the DaemonSet `dcgm-server` runs on the node, then restart the pod of the node \
monitoring agent")
                    .command(format!(
                        "kubectl get pods --namespace kube-system --field-selector spec.nodeName={}",
                        node.name()
                    )),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn with_unhealthy_gpus_the_condition_is_believed() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace(
            r#"allocatable: {nvidia.com/gpu: "8"}"#,
            r#"allocatable: {nvidia.com/gpu: "7"}"#,
        );
        let (codes, text) = codes(&objects);
        assert!(!codes.contains(&CHECK.code.id), "{text}");
        assert!(codes.contains(&"GPUC7402"), "{text}");
    }

    #[test]
    fn nodes_without_gpus_are_not_judged() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&objects.replace(r#"{nvidia.com/gpu: "8"}"#, "{}"));
        assert!(!codes.contains(&CHECK.code.id), "{text}");
    }
}
