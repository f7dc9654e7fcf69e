//! The upgrade of the driver does not end on a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{has_name, is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7203",
        name: "driver-upgrade-stuck",
        severity: Severity::Error,
        summary: "the upgrade of the driver does not end on a node",
        checks: "Whether the GPU Operator ends upgrades of the driver: no node has failed, and the components that it \
stops for the upgrade are started again when the new driver is ready.",
        reason: "During an upgrade, the device plugin and the exporter of a node are stopped and the node is cordoned. \
If the upgrade ends midway, both stay that way, and the GPUs are lost.",
        remedy: "Drain the node, so that the driver can be unloaded, and restart its driver pod. Then set the labels \
`nvidia.com/gpu.deploy.*` with the value `paused-for-driver-upgrade` to `true`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {nvidia.com/gpu.present: "true", nvidia.com/gpu-driver-upgrade-state: upgrade-failed}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace(
            "nvidia.com/gpu-driver-upgrade-state: upgrade-failed",
            "nvidia.com/gpu-driver-upgrade-state: upgrade-done",
        ),
    },
    layer: Layer::Driver,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The label with the state of the upgrade.
///
/// Source: NVIDIA/k8s-operator-libs `pkg/upgrade/consts.go`; NVIDIA/gpu-operator issues 316 and 2509, 2026-11-28.
const STATE_LABEL: &str = "nvidia.com/gpu-driver-upgrade-state";

/// The value of labels of components that are stopped for an upgrade.
const PAUSED: &str = "paused-for-driver-upgrade";

/// The seconds after which components are started again when the driver is ready.
const RESTART_SECONDS: u64 = 1800;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let finding = |message: &str| Finding::new(&CHECK.code, node.object(), message);
        let label =
            |key: &str, value: &str| (format!("metadata.labels[\"{key}\"]"), value.to_owned());
        if node.node.metadata.label(STATE_LABEL) == Some("upgrade-failed") {
            let (path, value) = label(STATE_LABEL, "upgrade-failed");
            findings.push(
                finding("the upgrade of the driver has failed on the node")
                    .field(node.object(), &path, value)
                    .help("drain the node and restart its driver pod, then set the label to `upgrade-required`")
                    .command(format!(
                        "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                        node.name()
                    )),
            );
        } else if let Some((key, pod)) = paused_component(ctx, node) {
            let (path, value) = label(key, PAUSED);
            findings.push(
                finding("components of the GPU Operator stay stopped after an upgrade of the driver")
                    .field(node.object(), &path, value)
                    .field(pod_ref(pod), "status.conditions[Ready].status", "True")
                    .help(format!(
                        "set the labels `nvidia.com/gpu.deploy.*` of the node with the value `{PAUSED}` to `true`"
                    ))
                    .command(format!("kubectl get node {} --show-labels", node.name())),
            );
        }
    }
}

/// The label of a component that is stopped although the driver is ready for a long time, and the driver's pod.
fn paused_component<'s>(ctx: &Context<'s>, node: &NodeFacts<'s>) -> Option<(&'s str, &'s Pod)> {
    let mut labels = node.node.metadata.labels.iter();
    let (key, _) = labels
        .find(|(key, value)| key.starts_with("nvidia.com/gpu.deploy.") && value.contains(PAUSED))?;
    let mut pods = ctx.pods_on(node.name()).iter();
    let driver = pods.find(|pod| {
        let is_driver = has_name(pod, &["nvidia-driver-daemonset", "nvidia-gpu-driver-"]);
        let ready = pod
            .condition("Ready")
            .and_then(|it| ctx.age(it.last_transition_time));
        let is_settled = ready.is_some_and(|age| age > RESTART_SECONDS);
        is_driver && is_active(pod) && pod.is_ready() && is_settled
    })?;
    Some((key, driver))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(upgrade: &str, driver: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace(
            "nvidia.com/gpu-driver-upgrade-state: upgrade-failed",
            upgrade,
        );
        codes(&format!("{objects}{driver}"))
    }

    fn driver(ready_since: &str) -> String {
        format!(
            r#"  - apiVersion: v1
    kind: Pod
    metadata: {{name: nvidia-driver-daemonset-x, namespace: gpu-operator}}
    spec: {{nodeName: gpu-1}}
    status: {{phase: Running, conditions: [{{type: Ready, status: "True", lastTransitionTime: "{ready_since}"}}]}}
  - apiVersion: v1
    kind: Event
    metadata: {{name: e, namespace: default}}
    lastTimestamp: "2026-11-28T12:00:00Z"
"#
        )
    }

    const PAUSED: &str = "nvidia.com/gpu.deploy.device-plugin: paused-for-driver-upgrade";

    #[test]
    fn upgrades_that_go_on_are_not_stuck() {
        for state in ["upgrade-required", "drain-required", "pod-restart-required"] {
            let (codes, text) = check(&format!("nvidia.com/gpu-driver-upgrade-state: {state}"), "");
            assert!(codes.is_empty(), "{text}");
        }
        let (codes, text) = check(PAUSED, &driver("2026-11-28T11:50:00Z"));
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn components_that_stay_stopped_are_reported() {
        let (codes, text) = check(PAUSED, &driver("2026-11-28T09:00:00Z"));
        assert_eq!(codes, [CHECK.code.id], "{text}");
    }
}
