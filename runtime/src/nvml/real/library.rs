//! Locates libnvidia-ml: below the driver root, or in the library path of the system.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError as WrapperError;

use super::error::{call_error, error_kind};
use crate::nvml::{NvmlError, NvmlErrorKind};

/// The library's file name.
const LIBRARY_NAME: &str = "libnvidia-ml.so.1";

/// Library directories of distributions and driver containers, relative to the driver root. GKE's installer uses
/// `lib64` of its own directory.
const FOLDERS: &[&str] = &[
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
];

/// Files that exist only in Windows Subsystem for Linux, relative to the root.
const WSL_FILES: &[&str] = &["dev/dxg", "usr/lib/wsl/lib/libdxcore.so"];

/// A file that exists only on NVIDIA's Tegra boards, and the file with a board's family, relative to the root.
const TEGRA_RELEASE_FILE: &str = "etc/nv_tegra_release";
const TEGRA_FAMILY_FILE: &str = "sys/devices/soc0/family";

/// Loads and initialises the library, once. If there is one below the driver root, no other is tried: another
/// one belongs to another driver.
pub(super) fn open(driver_root: &Path, system: &Path) -> Result<Nvml, NvmlError> {
    if let Some(machine) = unsupported_platform(driver_root, system) {
        return Err(unsupported_error(machine));
    }
    let found = find_below_root(driver_root);
    let path = found
        .clone()
        .map_or_else(|| OsString::from(LIBRARY_NAME), OsString::from);
    let loaded = load(&path).map_err(|error| match (found, error_kind(&error)) {
        (None, NvmlErrorKind::NoLibrary) => NvmlError {
            kind: NvmlErrorKind::NoLibrary,
            message: format!(
                "{LIBRARY_NAME} not found below {} or in the system's library path: check that the driver is installed there",
                driver_root.display()
            ),
        },
        (found, _) => {
            let path = found.unwrap_or_else(|| PathBuf::from(LIBRARY_NAME));
            call_error(&path.display().to_string(), &error)
        }
    })?;
    if is_tegra(&loaded) {
        return Err(unsupported_error("a Tegra board"));
    }
    Ok(loaded)
}

fn unsupported_error(machine: &str) -> NvmlError {
    NvmlError {
        kind: NvmlErrorKind::Unsupported,
        message: format!("{machine} is not supported by gpuc: use NVIDIA's device plugin there"),
    }
}

fn load(path: &OsStr) -> Result<Nvml, WrapperError> {
    Nvml::builder().lib_path(path).init()
}

/// Returns the library below the driver root.
fn find_below_root(driver_root: &Path) -> Option<PathBuf> {
    let mut paths = FOLDERS
        .iter()
        .map(|folder| driver_root.join(folder).join(LIBRARY_NAME));
    paths.find(|path| path.exists())
}

/// Whether the library is one for a Tegra board, which supports almost no calls. NVIDIA's plugin detects them by the
/// GPU's name too (k8s-device-plugin @1b826acc).
fn is_tegra(nvml: &Nvml) -> bool {
    let name = nvml.device_by_index(0).and_then(|device| device.name());
    name.is_ok_and(|name| name.contains("(nvgpu)") || name == "NVIDIA Thor")
}

/// Returns the platform, if it has GPUs but no NVML to manage them.
fn unsupported_platform(driver_root: &Path, system: &Path) -> Option<&'static str> {
    let has = |file: &&str| system.join(file).exists() || driver_root.join(file).exists();
    if WSL_FILES.iter().any(has) {
        return Some("Windows Subsystem for Linux (WSL)");
    }
    let family = std::fs::read_to_string(system.join(TEGRA_FAMILY_FILE)).unwrap_or_default();
    let tegra = has(&TEGRA_RELEASE_FILE) || family.to_lowercase().contains("tegra");
    (tegra && find_below_root(driver_root).is_none()).then_some("a Tegra board")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn open_error(files: &[(&str, &str)]) -> NvmlError {
        let root = root(files);
        open(root.path(), root.path()).expect_err("there is no driver")
    }

    #[test]
    fn unsupported_platforms_are_named() {
        for (file, text, word) in [
            ("dev/dxg", "", "WSL"),
            ("usr/lib/wsl/lib/libdxcore.so", "", "WSL"),
            ("etc/nv_tegra_release", "# R36", "Tegra"),
            ("sys/devices/soc0/family", "Tegra\n", "Tegra"),
        ] {
            let error = open_error(&[(file, text)]);
            assert_eq!(error.kind, NvmlErrorKind::Unsupported, "{error}");
            assert!(error.message.contains(word), "{error}");
        }
    }

    #[test]
    fn other_soc_family_is_not_tegra() {
        let error = open_error(&[("sys/devices/soc0/family", "jep106:0036\n")]);
        assert_eq!(error.kind, NvmlErrorKind::NoLibrary, "{error}");
        assert!(error.message.contains(LIBRARY_NAME), "{error}");
    }

    #[test]
    fn library_is_found_in_every_folder() {
        for folder in FOLDERS {
            let file = format!("{folder}/{LIBRARY_NAME}");
            // No library, so that loading it fails and names it.
            let error = open_error(&[(&file, "no library")]);
            assert_eq!(error.kind, NvmlErrorKind::NoLibrary, "{error}");
            assert!(error.message.contains(&file), "{error}");
        }
    }
}
