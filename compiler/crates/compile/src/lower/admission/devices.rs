//! Policy against access to GPUs that were not allocated to the pod. Such a pod runs, so the policy warns instead of
//! denying it.

use super::cel;
use super::{Denies, Policy, Validation};

/// The policy.
pub(super) fn policy() -> Policy {
    let validation = |expression: String, message: &str| Validation {
        expression,
        message: message.to_owned(),
        message_expression: None,
    };
    // To NVIDIA's container runtime, these values mean no GPUs, or no NVIDIA devices and libraries at all. The kubelet
    // sets the variables of the container after those of the device plugin (kubernetes `pkg/kubelet/kubelet_pods.go`,
    // `GenerateRunContainerOptions`, read 2026-11-26), so a container can replace the GPUs that it was allocated. The
    // CDI devices of a ResourceClaim replace the variable instead.
    let sets = "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && \
                (has(e.valueFrom) || !(e.?value.orValue('') in ['', 'none', 'void'])))";
    let own = format!(
        "[c.?resources.?limits.orValue({{}}), c.?resources.?requests.orValue({{}})].exists(list, list.exists(name, \
         {} && string(list[name]) != '0'))",
        cel::gpu_resource_condition("name")
    );
    let has_variable = "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES')";
    let is_explicit = format!("variables.containers.all(c, {has_variable})");
    Policy {
        name: "gpuc-gpu-devices",
        denies: Denies::Never,
        exempts_daemon_sets: true,
        checks_running_pods: true,
        variables: cel::variables(),
        validations: vec![
            validation(
                format!(
                    "variables.containers.all(c, !{sets} || size(c.?resources.?claims.orValue([])) > 0 || {own})"
                ),
                "a container requests no GPU and sets NVIDIA_VISIBLE_DEVICES, so it can access GPUs of other pods; \
                 request GPUs in resources.limits, and remove the variable",
            ),
            validation(
                format!("variables.containers.all(c, !({own}) || !{has_variable})"),
                "a container requests GPUs and sets NVIDIA_VISIBLE_DEVICES, which replaces the GPUs that the device \
                 plugin allocates to it; remove the variable",
            ),
            validation(
                format!(
                    "variables.spec.?runtimeClassName.orValue('') != 'nvidia' || {} || {is_explicit}",
                    cel::gpu_request_condition()
                ),
                "uses runtimeClassName nvidia and requests no GPU: with NVIDIA's images, this runtime gives access to \
                 all GPUs of a node; request GPUs in resources.limits, or remove runtimeClassName",
            ),
            validation(
                "variables.spec.?volumes.orValue([]).all(volume, \
                 !volume.?hostPath.?path.orValue('').startsWith('/dev/nvidia'))"
                    .to_owned(),
                "mounts /dev/nvidia* of the host, which bypasses the device plugin; request GPUs in resources.limits, \
                 and remove the volume",
            ),
        ],
        reason: "a pod uses only the GPUs that are allocated to it",
    }
}
