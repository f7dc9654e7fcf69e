//! Converts NVML errors.

use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper_sys::bindings as nvml;

use crate::nvml::{NvmlError, NvmlErrorKind};

/// The meaning of NVML's codes (nvml.h 13, `nvmlReturn_t`), with NVML's names, which people search for.
#[rustfmt::skip]
const ERROR_CODES: &[(u32, &str, &str)] = &[
    (nvml::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED, "UNINITIALIZED", "the NVML library is not initialized"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT, "INVALID_ARGUMENT", "an argument is invalid"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED, "NOT_SUPPORTED", "the GPU does not support this"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION, "NO_PERMISSION", "this process lacks the permission"),
    (nvml::nvmlReturn_enum_NVML_ERROR_ALREADY_INITIALIZED, "ALREADY_INITIALIZED",
        "the NVML library is already initialized"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_FOUND, "NOT_FOUND", "not found"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE",
        "the buffer is too small for the answer"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_POWER, "INSUFFICIENT_POWER",
        "the power cables of the GPU are not attached properly"),
    (nvml::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED", "the driver is not loaded"),
    (nvml::nvmlReturn_enum_NVML_ERROR_TIMEOUT, "TIMEOUT", "the driver timed out"),
    (nvml::nvmlReturn_enum_NVML_ERROR_IRQ_ISSUE, "IRQ_ISSUE", "the kernel reports a GPU interrupt problem"),
    (nvml::nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND",
        "a library that the driver needs was not found"),
    (nvml::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND",
        "this driver version does not support the call"),
    (nvml::nvmlReturn_enum_NVML_ERROR_CORRUPTED_INFOROM, "CORRUPTED_INFOROM",
        "the InfoROM of the GPU is corrupted"),
    (nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST, "GPU_IS_LOST",
        "the GPU fell off the bus or is otherwise inaccessible"),
    (nvml::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED, "RESET_REQUIRED", "the GPU needs a reset before it can be used"),
    (nvml::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM, "OPERATING_SYSTEM",
        "the operating system or a device cgroup rule denies access to the GPU"),
    (nvml::nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH",
        "the library and the loaded driver are of different versions"),
    (nvml::nvmlReturn_enum_NVML_ERROR_IN_USE, "IN_USE", "the GPU is in use"),
    (nvml::nvmlReturn_enum_NVML_ERROR_MEMORY, "MEMORY", "insufficient memory"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NO_DATA, "NO_DATA", "no data available"),
    (nvml::nvmlReturn_enum_NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "VGPU_ECC_NOT_SUPPORTED",
        "not possible on a virtual GPU while ECC is enabled"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES, "INSUFFICIENT_RESOURCES",
        "insufficient resources left on the GPU"),
    (nvml::nvmlReturn_enum_NVML_ERROR_FREQ_NOT_SUPPORTED, "FREQ_NOT_SUPPORTED",
        "the GPU does not support that frequency"),
    (OLDER_DRIVER, "ARGUMENT_VERSION_MISMATCH", "this driver version expects another version of the argument"),
    (nvml::nvmlReturn_enum_NVML_ERROR_DEPRECATED, "DEPRECATED", "the driver no longer supports the call"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_READY, "NOT_READY", "the GPU is not ready yet"),
    (nvml::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND, "GPU_NOT_FOUND", "the driver found no GPU"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INVALID_STATE, "INVALID_STATE", "the state of the GPU does not allow this"),
    (nvml::nvmlReturn_enum_NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "RESET_TYPE_NOT_SUPPORTED",
        "the GPU does not support that type of reset"),
    (nvml::nvmlReturn_enum_NVML_ERROR_UNKNOWN, "UNKNOWN", "the driver reports an unknown error"),
];

/// The driver is older than the version of the argument.
const OLDER_DRIVER: u32 = nvml::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH;

/// Creates the error of a call: the call, and the message of NVML.
pub(super) fn call_error(call: &str, error: &WrapperError) -> NvmlError {
    NvmlError {
        kind: error_kind(error),
        message: format!("{call}: {}", describe_error(error)),
    }
}

/// Describes an NVML error: `the GPU is in use (NVML_ERROR_IN_USE)`.
fn describe_error(nvml_error: &WrapperError) -> String {
    let code = match nvml_error {
        // These name the library or function themselves.
        WrapperError::LibloadingError(error) => return error.to_string(),
        WrapperError::FailedToLoadSymbol(symbol) => {
            return format!("this driver version does not support the call ({symbol})");
        }
        WrapperError::UnexpectedVariant(code) => Some(*code),
        known => ERROR_CODES.iter().map(|(code, ..)| *code).find(|code| {
            std::mem::discriminant(&WrapperError::from(*code)) == std::mem::discriminant(known)
        }),
    };
    let row = ERROR_CODES
        .iter()
        .find(|(number, ..)| Some(*number) == code);
    match (row, code) {
        (Some((_, name, meaning)), _) => format!("{meaning} (NVML_ERROR_{name})"),
        (None, Some(code)) => format!("the driver returned the unknown code {code}"),
        (None, None) => format!("cannot read the answer of the driver: {nvml_error}"),
    }
}

/// Returns the kind of an NVML error.
pub(super) fn error_kind(error: &WrapperError) -> NvmlErrorKind {
    match error {
        WrapperError::LibloadingError(_) | WrapperError::LibraryNotFound => {
            NvmlErrorKind::NoLibrary
        }
        WrapperError::DriverNotLoaded | WrapperError::Uninitialized => NvmlErrorKind::NoDriver,
        WrapperError::GpuLost => NvmlErrorKind::GpuLost,
        WrapperError::NotSupported
        | WrapperError::FailedToLoadSymbol(_)
        | WrapperError::FunctionNotFound
        | WrapperError::UnexpectedVariant(OLDER_DRIVER) => NvmlErrorKind::NotSupported,
        WrapperError::NoPermission | WrapperError::OperatingSystem => NvmlErrorKind::NoPermission,
        WrapperError::InUse => NvmlErrorKind::InUse,
        _ => NvmlErrorKind::Other,
    }
}

/// Converts `not supported` errors to `None`.
pub(super) fn none_if_unsupported<T>(
    result: Result<T, WrapperError>,
) -> Result<Option<T>, WrapperError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error_kind(&error) == NvmlErrorKind::NotSupported => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of nvml.h 13.
    #[test]
    fn error_codes_have_unique_descriptions() {
        let mut seen = std::collections::BTreeSet::new();
        for code in (1..=30).chain([999]) {
            let text = describe_error(&WrapperError::from(code));
            assert!(text.contains(" (NVML_ERROR_"), "{code}: {text}");
            assert!(seen.insert(text), "{code}");
        }
        for (code, text) in [
            (9, "the driver is not loaded (NVML_ERROR_DRIVER_NOT_LOADED)"),
            (
                15,
                "the GPU fell off the bus or is otherwise inaccessible (NVML_ERROR_GPU_IS_LOST)",
            ),
            (19, "the GPU is in use (NVML_ERROR_IN_USE)"),
            (27, "the GPU is not ready yet (NVML_ERROR_NOT_READY)"),
            (31, "the driver returned the unknown code 31"),
        ] {
            assert_eq!(describe_error(&WrapperError::from(code)), text);
        }
    }
}
