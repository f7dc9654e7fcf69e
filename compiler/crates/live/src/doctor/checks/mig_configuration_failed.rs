//! The MIG manager could not create the MIG devices of a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, has_name, is_active, logs_command};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7410",
        name: "mig-configuration-failed",
        severity: Severity::Error,
        summary: "the MIG manager could not create the MIG devices of a node",
        checks: "Whether NVIDIA's MIG manager has created the MIG devices that the label `nvidia.com/mig.config` of \
each node names.",
        reason: "The node keeps its earlier MIG devices, or none. Pods that request the new ones stay pending.",
        remedy: "Read the log of the MIG manager on the node. Most often a program still uses a GPU: drain the node. \
Some machines require a reboot before the MIG mode changes. Then set the label again.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels:
        nvidia.com/gpu.present: "true"
        nvidia.com/mig.config: all-1g.10gb
        nvidia.com/mig.config.state: failed
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace("mig.config.state: failed", "mig.config.state: success"),
    },
    layer: Layer::Sharing,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// The label with the name of the configuration of MIG devices.
pub(super) const CONFIG_LABEL: &str = "nvidia.com/mig.config";

/// The label with the state of that configuration: `pending`, `rebooting`, `failed` or `success`.
///
/// Source: NVIDIA/mig-parted `deployments/gpu-operator/reconfigure-mig.go`, 2026-11-28.
pub(super) const STATE_LABEL: &str = "nvidia.com/mig.config.state";

/// The pod of the MIG manager on a node.
pub(super) fn mig_manager<'s>(ctx: &Context<'s>, node: &NodeFacts<'_>) -> Option<&'s Pod> {
    let mut pods = ctx.pods_on(node.name()).iter();
    let is_manager = |pod: &&&Pod| is_active(pod) && has_name(pod, &["nvidia-mig-manager"]);
    pods.find(is_manager).copied()
}

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        if node.node.metadata.label(STATE_LABEL) != Some("failed") {
            continue;
        }
        let config = node.node.metadata.label(CONFIG_LABEL).unwrap_or("none");
        let message = format!("the MIG manager could not apply the configuration `{config}`");
        let mut finding = Finding::new(&CHECK.code, node.object(), message)
            .field(
                node.object(),
                &format!("metadata.labels[\"{STATE_LABEL}\"]"),
                "failed",
            )
            .input(node.pool.map(|pool| pool.sharing_span))
            .help(
                "drain the node, so that no program uses its GPUs, and set the label `nvidia.com/mig.config` again; \
reboot the node if that does not help",
            );
        if let Some(pod) = mig_manager(ctx, node) {
            let is_error = |line: &str| line.contains("Error") || line.contains("error");
            if let Some(evidence) = find_line(ctx, pod, is_error) {
                finding = finding.evidence(evidence);
            }
            finding = finding.command(logs_command(pod));
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn the_log_of_the_mig_manager_is_evidence() {
        let manager = r#"  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-mig-manager-x, namespace: gpu-operator}
    spec: {nodeName: gpu-1, containers: [{name: nvidia-mig-manager, image: mig}]}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/gpu-operator/nvidia-mig-manager-x/nvidia-mig-manager.log
Applying the selected MIG config to the node
Error resetting all GPUs: GPU is in use by another client
"#;
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&format!("{objects}{manager}"));
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("in use by another client"), "{text}");
        assert!(text.contains("kubectl logs"), "{text}");
    }

    #[test]
    fn pods_wait_for_its_mig_devices() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let pod = |resource: &str| {
            format!(
                r#"  - apiVersion: v1
    kind: Pod
    metadata: {{name: train-0, namespace: ml}}
    spec: {{containers: [{{name: main, resources: {{limits: {{{resource}: "1"}}}}}}]}}
    status: {{phase: Pending}}
"#
            )
        };
        let (found, text) = codes(&format!("{objects}{}", pod("nvidia.com/mig-1g.10gb")));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
        let (found, text) = codes(&format!("{objects}{}", pod("nvidia.com/other")));
        assert_eq!(found.len(), 2, "{text}");
    }

    #[test]
    fn changes_that_go_on_have_not_failed() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        for state in ["pending", "rebooting", "\"\""] {
            let (codes, text) =
                codes(&objects.replace("state: failed", &format!("state: {state}")));
            assert!(!codes.contains(&CHECK.code.id), "{text}");
        }
    }
}
