//! Interprets the condition that a GPU reports.

use crate::nvml::{Condition, NvmlError, NvmlErrorKind, RecoveryAction};

/// Returns the recovery that the driver requests, if any.
pub(super) fn requested_recovery(condition: &Condition) -> Option<String> {
    match condition.action {
        Some(RecoveryAction::Nothing) | None => condition
            .remap_failed
            .then(|| "a memory row could not be remapped".to_owned()),
        Some(action) => Some(format!("the driver requests {}", describe_action(action))),
    }
}

/// Treats a GPU without support for the query, or without permission for it, as present.
pub(super) fn treat_unsupported_as_healthy(
    result: Result<Condition, NvmlError>,
) -> Result<Condition, NvmlError> {
    match result {
        Err(error) => match error.kind {
            NvmlErrorKind::NotSupported | NvmlErrorKind::NoPermission | NvmlErrorKind::InUse => {
                Ok(Condition::default())
            }
            NvmlErrorKind::NoLibrary
            | NvmlErrorKind::NoDriver
            | NvmlErrorKind::Unsupported
            | NvmlErrorKind::GpuLost
            | NvmlErrorKind::TimedOut
            | NvmlErrorKind::Other => Err(error),
        },
        result @ Ok(_) => result,
    }
}

/// Describes a recovery action.
fn describe_action(action: RecoveryAction) -> String {
    match action {
        RecoveryAction::Nothing => "nothing".to_owned(),
        RecoveryAction::ResetGpu => "a reset of the GPU".to_owned(),
        RecoveryAction::RebootNode => "a reboot of the node".to_owned(),
        RecoveryAction::DrainPeers => "draining of peer-to-peer traffic".to_owned(),
        RecoveryAction::DrainAndReset => {
            "draining of workloads, then a reset of the GPU".to_owned()
        }
        RecoveryAction::RecoverImex => "recovery of the IMEX domain".to_owned(),
        RecoveryAction::Other(number) => format!("recovery action {number}"),
    }
}
