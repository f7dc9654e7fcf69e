//! The minimum driver of each CUDA version, and the supported GPU architectures.
//!
//! Sources, read 2026-11-21: NVIDIA CUDA 13.2 Update 2 release notes, table 3 (Linux drivers);
//! docs.nvidia.com/deploy/cuda-compatibility, table 1 (minor-version compatibility).

use std::fmt;

use super::{ComputeCapability, GpuArchitecture};

/// A CUDA toolkit release and the Linux driver it ships with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaRelease {
    /// 13 in 13.2 Update 1.
    pub major: u8,
    /// 2 in 13.2 Update 1.
    pub minor: u8,
    /// 1 in 13.2 Update 1; 0 for the first release.
    pub update: u8,
    /// The driver that supports all features of this toolkit.
    pub driver: DriverVersion,
}

/// A Linux driver's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion {
    /// The branch: 580 in 580.95.05.
    pub branch: u16,
    /// 95 in 580.95.05.
    pub minor: u16,
    /// 5 in 580.95.05; not present in some versions.
    pub patch: Option<u16>,
}

impl DriverVersion {
    /// Parses `580`, `580.95` or `580.95.05`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('0') {
            return None;
        }
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let version = Self {
            branch: parts.next()??,
            minor: parts.next().unwrap_or(Some(0))?,
            patch: match parts.next() {
                Some(patch) => Some(patch?),
                None => None,
            },
        };
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.branch, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch:02}"))
    }
}

/// The oldest driver branch that can run programs of this CUDA major version (minor-version compatibility). Later
/// branches are compatible too.
pub fn min_branch_for(major: u8) -> Option<u16> {
    match major {
        11 => Some(450),
        12 => Some(525),
        13 => Some(580),
        _ => None,
    }
}

/// Whether a CUDA major version supports an architecture: CUDA 13 dropped Maxwell, Pascal and Volta.
pub fn supports(major: u8, architecture: GpuArchitecture) -> bool {
    major < 13 || architecture >= GpuArchitecture::Turing
}

/// The first CUDA version with code for this compute capability. Code for one minor version also runs on later minor
/// versions of the same major version, but not on other major versions.
///
/// Sources: docs.nvidia.com/cuda/hopper-compatibility-guide (11.8; what code runs where), 2026-11-22;
/// docs.nvidia.com/cuda/blackwell-compatibility-guide (12.8), 2026-11-24; ampere-compatibility-guide (11.0), from
/// memory.
pub fn first_cuda_for(capability: ComputeCapability) -> Option<(u8, u8)> {
    match capability.major {
        8 => Some((11, 0)),
        9 => Some((11, 8)),
        10 | 12 => Some((12, 8)),
        _ => None,
    }
}

/// All releases of the table, newest first.
pub static RELEASES: &[CudaRelease] = &[
    release(13, 2, 2, version(595, 71, 5)),
    release(13, 2, 1, version(595, 58, 3)),
    release(13, 2, 0, version(595, 45, 4)),
    release(13, 1, 1, version(590, 48, 1)),
    release(13, 1, 0, version(590, 44, 1)),
    release(13, 0, 2, version(580, 95, 5)),
    release(13, 0, 1, version(580, 82, 7)),
    release(13, 0, 0, version(580, 65, 6)),
    release(12, 9, 1, version(575, 57, 8)),
    release(12, 9, 0, version(575, 51, 3)),
    release(12, 8, 1, version(570, 124, 6)),
    release(
        12,
        8,
        0,
        DriverVersion {
            branch: 570,
            minor: 26,
            patch: None,
        },
    ),
    release(12, 6, 3, version(560, 35, 5)),
    release(12, 6, 0, version(560, 28, 3)),
    release(12, 5, 1, version(555, 42, 6)),
    release(12, 5, 0, version(555, 42, 2)),
    release(12, 4, 1, version(550, 54, 15)),
    release(12, 4, 0, version(550, 54, 14)),
    release(12, 3, 1, version(545, 23, 8)),
    release(12, 3, 0, version(545, 23, 6)),
    release(12, 2, 0, version(535, 54, 3)),
    release(12, 1, 1, version(530, 30, 2)),
    release(12, 1, 0, version(530, 30, 2)),
    release(12, 0, 1, version(525, 85, 12)),
    release(12, 0, 0, version(525, 60, 13)),
    release(11, 8, 0, version(520, 61, 5)),
    release(11, 7, 0, version(515, 43, 4)),
    release(11, 6, 0, version(510, 39, 1)),
    release(11, 5, 0, version(495, 29, 5)),
    release(11, 4, 0, version(470, 42, 1)),
];

const fn release(major: u8, minor: u8, update: u8, driver: DriverVersion) -> CudaRelease {
    CudaRelease {
        major,
        minor,
        update,
        driver,
    }
}

const fn version(branch: u16, minor: u16, patch: u16) -> DriverVersion {
    DriverVersion {
        branch,
        minor,
        patch: Some(patch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::MODELS;

    #[test]
    fn drivers_match_the_release_notes() {
        for (major, minor, driver) in [
            (13, 0, Some("580.65.06")),
            (12, 8, Some("570.26")),
            (12, 4, Some("550.54.14")),
            (11, 4, Some("470.42.01")),
            (12, 7, None),
        ] {
            let first = RELEASES
                .iter()
                .find(|it| (it.major, it.minor, it.update) == (major, minor, 0));
            let found = first.map(|release| release.driver.to_string());
            assert_eq!(found.as_deref(), driver);
        }
    }

    #[test]
    fn versions_have_no_leading_zero() {
        let parse = |text: &str| DriverVersion::parse(text).map(|version| version.to_string());
        assert_eq!(parse("580.95.05").as_deref(), Some("580.95.05"));
        for text in ["0580", "", "580.x", "580.95.05.1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn newer_releases_need_newer_drivers() {
        assert_eq!(RELEASES.len(), 30);
        assert!(RELEASES.is_sorted_by(|a, b| a.driver >= b.driver));
        let order = |release: &CudaRelease| (release.major, release.minor, release.update);
        assert!(RELEASES.is_sorted_by(|a, b| order(a) > order(b)));
        for release in RELEASES {
            assert!(Some(release.driver.branch) >= min_branch_for(release.major));
        }
    }

    #[test]
    fn last_cuda_is_set_if_cuda_13_dropped_the_model() {
        for model in MODELS {
            assert_eq!(
                model.max_cuda.is_none(),
                supports(13, model.architecture),
                "{}",
                model.key
            );
        }
    }

    #[test]
    fn versions_round_trip() {
        for text in ["580.95.05", "570.26", "450.80.02"] {
            let version = DriverVersion::parse(text).expect(text);
            assert_eq!(version.to_string(), text);
        }
        assert_eq!(
            DriverVersion::parse("580").map(|version| version.branch),
            Some(580)
        );
        for text in ["", "R580", "580.", "580.1.2.3", "580.x"] {
            assert_eq!(DriverVersion::parse(text), None, "{text}");
        }
    }
}
