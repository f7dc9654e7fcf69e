//! The creation of MIG devices does not go on.

use std::cell::OnceCell;
use std::sync::Arc;

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::mig_configuration_failed::{CONFIG_LABEL, STATE_LABEL, mig_manager};
use super::pods::{PATIENCE_SECONDS, needs_mig_devices, needs_nodes};
use super::stack::{failure_command, failure_of, logs_command, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::pending::PendingPod;
use crate::doctor::verdict::{stuck_pods, waiting_seconds};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7411",
        name: "mig-configuration-stuck",
        severity: Severity::Error,
        summary: "the creation of MIG devices on a node does not go on",
        checks: "Whether the MIG manager still works on nodes whose label says that it creates MIG devices: its pod \
runs, the node has not been back from its reboot for 15 minutes, and no pod waits for the devices for 10 minutes.",
        reason: "The MIG manager stops the device plugin while it works. If it ends midway, the device plugin does not \
start again, and the node offers no GPUs. Programs that use the GPUs delay the change.",
        remedy: "Restart the pod of the MIG manager on the node, or delete it so that its DaemonSet recreates it: \
it starts from the beginning.",
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
        nvidia.com/mig.config.state: rebooting
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - type: Ready
          status: "True"
          lastTransitionTime: "2026-11-28T12:00:00Z"
          lastHeartbeatTime: "2026-11-28T12:30:00Z"
"#,
        correction: Correction::Replace("mig.config.state: rebooting", "mig.config.state: success"),
    },
    layer: Layer::Sharing,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which a node continues after a reboot.
const REBOOT_SECONDS: u64 = 900;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let late = OnceCell::new();
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let state = node.node.metadata.label(STATE_LABEL);
        let finding = match state {
            Some("rebooting") => check_reboot(ctx, node),
            Some("pending") => {
                let late = late.get_or_init(|| late_pods(ctx));
                check_manager(ctx, node).or_else(|| check_waiting(ctx, node, late))
            }
            _ => None,
        };
        let config = node.node.metadata.label(CONFIG_LABEL).unwrap_or("none");
        findings.extend(finding.map(|it| {
            it.field(
                node.object(),
                &format!("metadata.labels[\"{STATE_LABEL}\"]"),
                state.unwrap_or_default(),
            )
            .field(
                node.object(),
                &format!("metadata.labels[\"{CONFIG_LABEL}\"]"),
                config,
            )
            .input(node.pool.map(|pool| pool.sharing_span))
        }));
    }
}

/// A node that is back from its reboot, and whose label has not changed.
fn check_reboot(ctx: &Context<'_>, node: &NodeFacts<'_>) -> Option<Finding> {
    let ready = node.node.condition("Ready")?;
    let age = ctx.age(ready.last_transition_time)?;
    let message = "the MIG manager does not go on after the reboot of the node";
    (age > REBOOT_SECONDS).then(|| {
        Finding::new(&CHECK.code, node.object(), message)
            .help("delete the pod of the MIG manager on the node, so that it starts from the beginning")
            .command(format!(
                "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                node.name()
            ))
    })
}

/// A node whose MIG manager fails or does not run while it creates MIG devices.
fn check_manager(ctx: &Context<'_>, node: &NodeFacts<'_>) -> Option<Finding> {
    let Some(pod) = mig_manager(ctx, node) else {
        let is_certain = ctx.state.completeness(Kind::Pod).is_complete();
        let message = "the label of the node says that MIG devices are created, but no MIG manager runs on it";
        return is_certain.then(|| {
            Finding::new(&CHECK.code, node.object(), message)
                .help("run the MIG manager on the node")
                .command("kubectl get daemonsets --all-namespaces")
        });
    };
    let failure = failure_of(pod)?;
    let message = format!(
        "the MIG manager fails while it creates MIG devices: `{}`",
        failure.reason
    );
    let command = failure_command(pod, &failure);
    Some(
        Finding::new(&CHECK.code, node.object(), message)
            .field(pod_ref(pod), &failure.field, failure.value)
            .help("correct the failure of its pod, which then starts from the beginning")
            .command(command),
    )
}

/// The pods that have waited for long, one for each of their requirements.
fn late_pods<'c>(ctx: &'c Context<'_>) -> Vec<&'c PendingPod<'c>> {
    let mut late: Vec<&PendingPod<'_>> = Vec::new();
    for pending in stuck_pods(ctx) {
        let seconds = waiting_seconds(ctx, pending);
        let is_known = || {
            let mut known = late.iter();
            known.any(|it| Arc::ptr_eq(&it.obstacles, &pending.obstacles))
        };
        if seconds.is_none_or(|it| it >= PATIENCE_SECONDS) && !is_known() {
            late.push(pending);
        }
    }
    late
}

/// A node on whose MIG devices pods have waited for long.
fn check_waiting(
    ctx: &Context<'_>,
    node: &NodeFacts<'_>,
    late: &[&PendingPod<'_>],
) -> Option<Finding> {
    let pending = late.iter().find(|pending| {
        let obstacles = &pending.obstacles;
        needs_mig_devices(&obstacles.demand) && needs_nodes(&obstacles.verdict)
            || obstacles.would_fit.contains(&node.object())
    })?;
    let mut pods = ctx.pods_on(node.name()).iter();
    let holder = pods.find(|pod| !pod.is_finished() && PodDemand::new(pod).gpus().next().is_some());
    let message = "the MIG devices of the node are not created yet, and pods wait for them";
    let finding = Finding::new(&CHECK.code, node.object(), message).field(
        pod_ref(pending.pod),
        "status.phase",
        "Pending",
    );
    let Some(holder) = holder else {
        let help = "read the log of the MIG manager on the node";
        let command = mig_manager(ctx, node).map(logs_command);
        return Some(Finding {
            command,
            ..finding.help(help)
        });
    };
    Some(
        finding
            .field(pod_ref(holder), "spec.nodeName", node.name())
            .help("drain the node: the MIG manager cannot change GPUs that pods use")
            .command(format!(
                "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                node.name()
            )),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(state: &str, time: &str, pods: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects
            .replace("state: rebooting", &format!("state: {state}"))
            .replace("T12:30:00Z", time);
        codes(&format!("{objects}{pods}"))
    }

    fn manager(state: &str) -> String {
        format!(
            r"  - apiVersion: v1
    kind: Pod
    metadata: {{name: nvidia-mig-manager-x, namespace: kube-system}}
    spec: {{nodeName: gpu-1}}
    status: {{phase: Running, containerStatuses: [{{name: m, state: {state}}}]}}
"
        )
    }

    #[test]
    fn a_reboot_takes_some_minutes() {
        let (codes, text) = check("rebooting", "T12:10:00Z", "");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn a_manager_that_works_is_not_stuck() {
        let (codes, text) = check("pending", "T12:30:00Z", &manager("{running: {}}"));
        assert!(codes.is_empty(), "{text}");
        let failed = manager("{waiting: {reason: CrashLoopBackOff}}");
        let (codes, text) = check("pending", "T12:30:00Z", &failed);
        assert_eq!(codes, [CHECK.code.id], "{text}");
    }

    #[test]
    fn pods_that_wait_for_mig_devices_are_explained_by_the_node() {
        let pod = |name: &str, created: &str, spec: &str, resource: &str| {
            format!(
                r#"  - apiVersion: v1
    kind: Pod
    metadata: {{name: {name}, namespace: ml, creationTimestamp: "2026-11-28T{created}Z"}}
    spec: {{{spec} containers: [{{name: main, resources: {{limits: {{{resource}: "1"}}}}}}]}}
    status: {{phase: Pending}}
"#
            )
        };
        let manager = manager("{running: {}}");
        let waiting = pod("train-0", "12:10:00", "", "nvidia.com/mig-1g.10gb");
        let old = pod("old-0", "11:00:00", "nodeName: gpu-1,", "nvidia.com/gpu");
        let old = old.replace("phase: Pending", "phase: Running");
        let (found, text) = check("pending", "T12:30:00Z", &format!("{manager}{waiting}"));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
        assert!(text.contains("kubectl logs"), "{text}");
        let (found, text) = check("pending", "T12:30:00Z", &format!("{manager}{waiting}{old}"));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("drain the node"), "{text}");
        assert!(text.contains("Pod ml/old-0#spec.nodeName"), "{text}");
        // The devices are created within some minutes.
        let new = pod("train-0", "12:22:00", "", "nvidia.com/mig-1g.10gb");
        let (found, text) = check("pending", "T12:30:00Z", &format!("{manager}{new}"));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn an_absent_manager_is_reported_only_if_all_pods_are_known() {
        let other = manager("{running: {}}").replace("nvidia-mig-manager-x", "other");
        let (codes, text) = check("pending", "T12:30:00Z", &other);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        let (codes, text) = check("pending", "T12:30:00Z", "");
        assert!(codes.is_empty(), "{text}");
    }
}
