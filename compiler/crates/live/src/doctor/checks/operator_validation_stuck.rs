//! The validation of the GPU Operator does not end on a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{has_name, is_active, logs_command, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{ContainerStatus, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7202",
        name: "operator-validation-stuck",
        severity: Severity::Error,
        summary: "the validation of the GPU Operator does not end on a node",
        checks: "Whether the init containers of `nvidia-operator-validator` end on each node: they validate the \
driver, the container toolkit and CUDA, in this order.",
        reason: "The device plugin and the exporter of the GPU Operator wait for the validation, and the node offers \
no GPUs until it succeeds.",
        remedy: "The first init container that has not ended names the part that does not work: `driver-validation` \
the driver, `toolkit-validation` the container runtime, `cuda-validation` the driver together with the fabric \
manager. Read its log and that of the pod which installs the part.",
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
      conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-11-28T13:00:00Z"}]
  - apiVersion: v1
    kind: Pod
    metadata:
      name: nvidia-operator-validator-x
      namespace: gpu-operator
      creationTimestamp: "2026-11-28T12:00:00Z"
    spec:
      nodeName: gpu-1
      initContainers:
        - {name: driver-validation, image: "nvcr.io/nvidia/gpu-operator:v26.7.0"}
        - {name: toolkit-validation, image: "nvcr.io/nvidia/gpu-operator:v26.7.0"}
      containers: [{name: nvidia-operator-validator, image: "nvcr.io/nvidia/gpu-operator:v26.7.0"}]
    status:
      phase: Pending
      conditions: [{type: Ready, status: "False"}]
      initContainerStatuses:
        - {name: driver-validation, ready: true, state: {terminated: {reason: Completed, exitCode: 0}}}
        - {name: toolkit-validation, ready: false, restartCount: 9, state: {running: {}}}
"#,
        correction: Correction::Replace(
            r#"phase: Pending
      conditions: [{type: Ready, status: "False"}]"#,
            r#"phase: Running
      conditions: [{type: Ready, status: "True"}]"#,
        ),
    },
    layer: Layer::Toolkit,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which a validation ends, installations included.
const VALIDATION_SECONDS: u64 = 1800;

/// The init containers, with the part that each validates. `plugin-validation` follows from the device plugin, which
/// has its own checks.
///
/// Source: NVIDIA/gpu-operator `assets/state-operator-validation/0500_daemonset.yaml`, 2026-11-28.
const VALIDATIONS: &[(&str, &str, &str)] = &[
    (
        "driver-validation",
        "the driver",
        "read the log of the init container, and that of the pod which installs the driver on the node",
    ),
    (
        "toolkit-validation",
        "the container toolkit",
        "read the log of the pod `nvidia-container-toolkit-daemonset` on the node: the container runtime does not \
inject the driver",
    ),
    (
        "cuda-validation",
        "CUDA",
        "read the log of the pod `nvidia-cuda-validator` on the node: if it says that the system is not initialized, \
the fabric manager does not run",
    ),
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for pod in ctx.pods_on(node.name()) {
            let is_validator = has_name(pod, &["nvidia-operator-validator"]);
            if !is_validator || !is_active(pod) || pod.is_ready() {
                continue;
            }
            let age = ctx.age(pod.metadata.creation_timestamp);
            if age.is_none_or(|age| age <= VALIDATION_SECONDS) {
                continue;
            }
            let Some((container, (_, part, help))) = unfinished(pod) else {
                continue;
            };
            let container = &container.name;
            findings.push(
                Finding::new(
                    &CHECK.code,
                    node.object(),
                    format!("the GPU Operator does not find {part} on the node: `{container}` does not end"),
                )
                .field(
                    pod_ref(pod),
                    &format!("status.initContainerStatuses[{container}].ready"),
                    "false",
                )
                .help(*help)
                .command(format!("{} --container {container}", logs_command(pod))),
            );
        }
    }
}

/// The first init container that has not ended successfully, and what it validates.
fn unfinished(
    pod: &Pod,
) -> Option<(
    &ContainerStatus,
    &'static (&'static str, &'static str, &'static str),
)> {
    let mut statuses = pod.status.init_container_statuses.iter();
    let first = statuses.find(|status| {
        let ended = status.state.terminated.as_ref();
        !status.ready && ended.is_none_or(|it| it.exit_code != 0)
    })?;
    // Without its sandbox, no container has started, and another check names the reason.
    if first.state.waiting.is_some() && first.restart_count == 0 {
        return None;
    }
    let mut known = VALIDATIONS.iter();
    Some((first, known.find(|(name, _, _)| *name == first.name)?))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn a_validation_that_has_just_started_is_not_stuck() {
        let (codes, text) = check("T13:00:00Z", "T12:20:00Z");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn the_validation_of_the_plugin_is_a_matter_of_the_plugin() {
        let (codes, text) = check("toolkit-validation", "plugin-validation");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn a_failed_driver_explains_the_validation() {
        let driver = r"  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-daemonset-x, namespace: gpu-operator}
    spec: {nodeName: gpu-1}
    status:
      phase: Running
      containerStatuses: [{name: nvidia-driver-ctr, state: {waiting: {reason: CrashLoopBackOff}}}]
";
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&format!("{objects}{driver}"));
        assert_eq!(codes, ["GPUC7201"], "{text}");
        assert!(text.contains("does not end"), "{text}");
    }
}
