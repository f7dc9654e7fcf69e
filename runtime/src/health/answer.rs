//! What a GPU answers when it is asked how it is.

use crate::nvml::{Condition, NvmlError, NvmlErrorKind, RecoveryAction};

/// What is to be done about a GPU; nothing where it is well as far as the driver says.
pub(super) fn wanted(condition: &Condition) -> Option<String> {
    match condition.action {
        Some(RecoveryAction::Nothing) | None => condition
            .remap_failed
            .then(|| "a row of its memory could not be replaced".to_owned()),
        Some(action) => Some(format!("the driver wants {}", wish(action))),
    }
}

/// A GPU that has no answer to the question, or does not answer everybody, is there all the same.
pub(super) fn answered(answer: Result<Condition, NvmlError>) -> Result<Condition, NvmlError> {
    match answer {
        Err(error) => match error.kind {
            NvmlErrorKind::NotSupported | NvmlErrorKind::NoPermission | NvmlErrorKind::InUse => {
                Ok(Condition::default())
            }
            NvmlErrorKind::NoLibrary
            | NvmlErrorKind::NoDriver
            | NvmlErrorKind::Unsupported
            | NvmlErrorKind::GpuLost
            | NvmlErrorKind::Other => Err(error),
        },
        answer @ Ok(_) => answer,
    }
}

/// What the driver wants, in words.
fn wish(action: RecoveryAction) -> String {
    match action {
        RecoveryAction::Nothing => "nothing".to_owned(),
        RecoveryAction::ResetGpu => "a reset of the GPU".to_owned(),
        RecoveryAction::RebootNode => "a restart of the node".to_owned(),
        RecoveryAction::DrainPeers => "peer-to-peer traffic to stop".to_owned(),
        RecoveryAction::DrainAndReset => "work to leave, then a reset of the GPU".to_owned(),
        RecoveryAction::RecoverImex => "the IMEX domain to be recovered".to_owned(),
        RecoveryAction::Other(number) => format!("recovery action {number}"),
    }
}
