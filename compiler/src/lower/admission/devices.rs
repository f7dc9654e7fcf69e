//! Pods that see GPUs that nobody gave them: those of other pods. Nothing keeps them from running, so that it is said
//! and not refused.

use super::cel;
use super::{Demand, Policy};

/// The policy.
pub(super) fn policy() -> Policy {
    let demand = |expression: String, message: &str| Demand {
        expression,
        message: message.to_owned(),
        saying: None,
    };
    // What these mean to NVIDIA's runtime: no GPUs, and nothing of NVIDIA's at all.
    let sets = "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && \
                !(e.?value.orValue('') in ['', 'none', 'void']))";
    let own = format!(
        "[c.?resources.?limits.orValue({{}}), c.?resources.?requests.orValue({{}})].exists(list, list.exists(name, \
         {} && string(list[name]) != '0'))",
        cel::is_gpu("name")
    );
    let says = "variables.containers.all(c, c.?env.orValue([]).exists(e, \
                e.name == 'NVIDIA_VISIBLE_DEVICES' && has(e.value)))";
    Policy {
        name: "gpuc-gpu-devices",
        refuses: false,
        spares_daemons: true,
        variables: cel::variables(),
        demands: vec![
            demand(
                format!(
                    "variables.containers.all(c, !{sets} || size(c.?resources.?claims.orValue([])) > 0 || {own})"
                ),
                "a container asks for no GPU and sets NVIDIA_VISIBLE_DEVICES: it would see GPUs of other pods; ask for \
                 GPUs in resources.limits, and remove the variable",
            ),
            demand(
                format!(
                    "variables.spec.?runtimeClassName.orValue('') != 'nvidia' || {} || {says}",
                    cel::asks_for_gpus()
                ),
                "has the runtime class of GPUs and asks for none: images of NVIDIA's ask this runtime for all GPUs of a \
                 node; ask for GPUs in resources.limits, or remove runtimeClassName",
            ),
            demand(
                "variables.spec.?volumes.orValue([]).all(volume, \
                 !volume.?hostPath.?path.orValue('').startsWith('/dev/nvidia'))"
                    .to_owned(),
                "mounts /dev/nvidia* of the host, which the device plugin does not know of; ask for GPUs in \
                 resources.limits, and remove the volume",
            ),
        ],
        why: "a pod uses the GPUs that it was given",
    }
}
