//! Several slices of one container: a program sees one of them, and they cannot reach each other. Some programs mean
//! it, so that it is said and not refused.
//!
//! Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory).

use super::cel;
use super::{Demand, Policy, amounts};
use crate::check::Checked;

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let offers = cel::offers(cluster).into_keys();
    let slices = offers.filter(|name| name.starts_with("nvidia.com/mig-"));
    let demands = slices.map(|name| Demand {
        expression: format!(
            "{}.all(count, count <= 1)",
            amounts::counts("variables.containers", name)
        ),
        message: format!(
            "asks for several {name}: a program sees one slice, and slices cannot reach each other; ask for one that \
             is larger"
        ),
        saying: None,
    });
    Policy {
        name: "gpuc-gpu-slices",
        refuses: false,
        spares_daemons: true,
        demands: demands.collect(),
        variables: cel::variables(),
        why: "several slices are not one larger slice",
    }
}
