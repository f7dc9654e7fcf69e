//! Policy against several MIG devices in one container: a CUDA program uses one of them, and they cannot communicate.
//! Some programs intend this, so the policy warns instead of denying the pod.
//!
//! Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory).

use gpuc_model::check::Checked;

use super::{Denies, Policy, Validation, amounts, cel};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let advertised = cel::pools_by_resource(cluster).into_keys();
    let resources = advertised.filter(|name| name.starts_with("nvidia.com/mig-"));
    let validations = resources.map(|name| Validation {
        expression: format!(
            "{}.all(count, count <= 1)",
            amounts::requested_amounts("variables.containers", &name)
        ),
        message: format!(
            "requests several {name}: a program uses one MIG device, and MIG devices cannot communicate; request a \
             larger one"
        ),
        message_expression: None,
    });
    Policy {
        name: "gpuc-gpu-slices",
        denies: Denies::Never,
        exempts_daemon_sets: true,
        checks_running_pods: false,
        validations: validations.collect(),
        variables: cel::variables(),
        reason: "several MIG devices are not one larger MIG device",
    }
}
