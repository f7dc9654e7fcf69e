//! NVML's refusals in the daemon's words.

use nvml_wrapper::error::NvmlError as Refusal;

use crate::nvml::{NvmlError, NvmlErrorKind};

/// `NVML_ERROR_ARGUMENT_VERSION_MISMATCH` (nvml.h 13): a driver older than the question.
const OLDER_DRIVER: u32 = 25;

/// The error for a question: what was asked, and what NVML says.
pub(super) fn trouble(what: &str, refusal: &Refusal) -> NvmlError {
    NvmlError {
        kind: kind_of(refusal),
        message: format!("{what}: {refusal}"),
    }
}

/// What kind of trouble a refusal is.
pub(super) fn kind_of(refusal: &Refusal) -> NvmlErrorKind {
    match refusal {
        Refusal::LibloadingError(_) | Refusal::LibraryNotFound => NvmlErrorKind::NoLibrary,
        Refusal::DriverNotLoaded | Refusal::Uninitialized => NvmlErrorKind::NoDriver,
        Refusal::GpuLost => NvmlErrorKind::GpuLost,
        Refusal::NotSupported
        | Refusal::FailedToLoadSymbol(_)
        | Refusal::FunctionNotFound
        | Refusal::UnexpectedVariant(OLDER_DRIVER) => NvmlErrorKind::NotSupported,
        Refusal::NoPermission | Refusal::OperatingSystem => NvmlErrorKind::NoPermission,
        Refusal::InUse => NvmlErrorKind::InUse,
        _ => NvmlErrorKind::Other,
    }
}

/// The answer, or nothing where the card or its driver has no such thing.
pub(super) fn where_supported<T>(answer: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if kind_of(&refusal) == NvmlErrorKind::NotSupported => Ok(None),
        Err(refusal) => Err(refusal),
    }
}
