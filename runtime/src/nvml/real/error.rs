//! NVML's refusals in the daemon's words.

use nvml_wrapper::error::NvmlError as Refusal;
use nvml_wrapper_sys::bindings as nvml;

use crate::nvml::{NvmlError, NvmlErrorKind};

/// What NVML's codes mean (nvml.h 13, `nvmlReturn_t`), with NVML's names, by which people search for them.
#[rustfmt::skip]
const WORDS: &[(u32, &str, &str)] = &[
    (nvml::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED, "UNINITIALIZED", "the driver's library was not started"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT, "INVALID_ARGUMENT", "the driver knows nothing of that kind"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED, "NOT_SUPPORTED", "the card has no such thing"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION, "NO_PERMISSION", "this process may not ask that"),
    (nvml::nvmlReturn_enum_NVML_ERROR_ALREADY_INITIALIZED, "ALREADY_INITIALIZED",
        "the driver's library was started before"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_FOUND, "NOT_FOUND", "there is no such thing"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE",
        "the answer is longer than the room for it"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_POWER, "INSUFFICIENT_POWER",
        "the card's power cables are not plugged in well"),
    (nvml::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED", "the driver is not loaded"),
    (nvml::nvmlReturn_enum_NVML_ERROR_TIMEOUT, "TIMEOUT", "the driver took too long"),
    (nvml::nvmlReturn_enum_NVML_ERROR_IRQ_ISSUE, "IRQ_ISSUE", "the kernel has trouble with the card's interrupts"),
    (nvml::nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND",
        "a library that the driver needs is not there"),
    (nvml::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND",
        "this version of the driver cannot be asked that"),
    (nvml::nvmlReturn_enum_NVML_ERROR_CORRUPTED_INFOROM, "CORRUPTED_INFOROM",
        "what the card stores about itself is damaged"),
    (nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST, "GPU_IS_LOST",
        "the GPU fell off the bus or cannot be reached any more"),
    (nvml::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED, "RESET_REQUIRED", "the GPU needs a reset before it can be used"),
    (nvml::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM, "OPERATING_SYSTEM",
        "the operating system or a device rule keeps this process from the GPU"),
    (nvml::nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH",
        "the library and the loaded driver are of different versions"),
    (nvml::nvmlReturn_enum_NVML_ERROR_IN_USE, "IN_USE", "the GPU is in use"),
    (nvml::nvmlReturn_enum_NVML_ERROR_MEMORY, "MEMORY", "there is not enough memory"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NO_DATA, "NO_DATA", "there is nothing measured yet"),
    (nvml::nvmlReturn_enum_NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "VGPU_ECC_NOT_SUPPORTED",
        "a virtual GPU cannot do that while ECC is on"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES, "INSUFFICIENT_RESOURCES",
        "what is left of the GPU is not enough"),
    (nvml::nvmlReturn_enum_NVML_ERROR_FREQ_NOT_SUPPORTED, "FREQ_NOT_SUPPORTED",
        "the card does not run at that frequency"),
    (OLDER_DRIVER, "ARGUMENT_VERSION_MISMATCH", "this version of the driver wants to be asked in another way"),
    (nvml::nvmlReturn_enum_NVML_ERROR_DEPRECATED, "DEPRECATED", "the driver can no longer be asked that"),
    (nvml::nvmlReturn_enum_NVML_ERROR_NOT_READY, "NOT_READY", "the GPU is not ready yet"),
    (nvml::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND, "GPU_NOT_FOUND", "the driver found no GPU"),
    (nvml::nvmlReturn_enum_NVML_ERROR_INVALID_STATE, "INVALID_STATE", "the GPU is in no state for that"),
    (nvml::nvmlReturn_enum_NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "RESET_TYPE_NOT_SUPPORTED",
        "the card knows no reset of that kind"),
    (nvml::nvmlReturn_enum_NVML_ERROR_UNKNOWN, "UNKNOWN", "the driver failed and does not say why"),
];

/// A driver older than the question.
const OLDER_DRIVER: u32 = nvml::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH;

/// The error for a question: what was asked, and what NVML says.
pub(super) fn trouble(what: &str, refusal: &Refusal) -> NvmlError {
    NvmlError {
        kind: kind_of(refusal),
        message: format!("{what}: {}", words(refusal)),
    }
}

/// A refusal in words: `the GPU is in use (NVML_ERROR_IN_USE)`.
fn words(refusal: &Refusal) -> String {
    let code = match refusal {
        // These say themselves which library or function it is about.
        Refusal::LibloadingError(error) => return error.to_string(),
        Refusal::FailedToLoadSymbol(symbol) => {
            return format!("this version of the driver cannot be asked that ({symbol})");
        }
        Refusal::UnexpectedVariant(code) => Some(*code),
        known => WORDS.iter().map(|(code, ..)| *code).find(|code| {
            std::mem::discriminant(&Refusal::from(*code)) == std::mem::discriminant(known)
        }),
    };
    let row = WORDS.iter().find(|(number, ..)| Some(*number) == code);
    match (row, code) {
        (Some((_, name, meaning)), _) => format!("{meaning} (NVML_ERROR_{name})"),
        (None, Some(code)) => format!("the driver answers {code}, which nobody has described"),
        (None, None) => format!("the driver's answer cannot be read: {refusal}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of nvml.h 13.
    #[test]
    fn every_code_has_words_of_its_own() {
        let mut told = std::collections::BTreeSet::new();
        for code in (1..=30).chain([999]) {
            let text = words(&Refusal::from(code));
            assert!(text.contains(" (NVML_ERROR_"), "{code}: {text}");
            assert!(told.insert(text), "{code}");
        }
        for (code, text) in [
            (9, "the driver is not loaded (NVML_ERROR_DRIVER_NOT_LOADED)"),
            (
                15,
                "the GPU fell off the bus or cannot be reached any more (NVML_ERROR_GPU_IS_LOST)",
            ),
            (19, "the GPU is in use (NVML_ERROR_IN_USE)"),
            (27, "the GPU is not ready yet (NVML_ERROR_NOT_READY)"),
            (31, "the driver answers 31, which nobody has described"),
        ] {
            assert_eq!(words(&Refusal::from(code)), text);
        }
    }
}
