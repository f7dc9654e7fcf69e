//! The branches of NVIDIA's Linux drivers.
//!
//! Sources: docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html, table 2 and the
//! list of branches that have ended, read 2026-11-24 in a copy with R580 as the newest; the CUDA release notes
//! ([`super::cuda`]) for the branches of each CUDA; NVIDIA's MIG user guide for R610, and its security
//! bulletin 5861 of 2026-09-30 for R615. Branches before 410 from memory.

use super::ComputeCapability;
use super::cuda::{RELEASES, first_cuda_for, min_branch_for};

/// Known branches, oldest first.
pub static BRANCHES: &[u16] = &[
    367, 375, 384, 390, 396, 410, 418, 430, 435, 440, 450, 455, 460, 465, 470, 495, 510, 515, 520,
    525, 530, 535, 545, 550, 555, 560, 565, 570, 575, 580, 590, 595, 610, 615,
];

/// The first version of each branch that fixes the known vulnerabilities of the driver for Linux, with the bulletin.
/// Branches without a row have ended without a fix.
///
/// Source: the rows `Tesla | Linux` of the bulletins of NVIDIA/product-security: `2026/5861/5861.md@08d1a287` of
/// 2026-09-30, and `2026/5821/5821.md@dbb4ada0` of 2026-05-21 for R535; read 2026-11-24.
pub static FIXED_VERSIONS: &[(u16, &str, &str)] = &[
    (535, "535.309.01", "NVIDIA security bulletin 5821"),
    (580, "580.178.04", "NVIDIA security bulletin 5861"),
    (595, "595.91.07", "NVIDIA security bulletin 5861"),
    (610, "610.57.04", "NVIDIA security bulletin 5861"),
    (615, "615.71.09", "NVIDIA security bulletin 5861"),
];

/// The first version of a branch without known vulnerabilities, and NVIDIA's bulletin.
pub fn fixed_version(branch: u16) -> Option<(&'static str, &'static str)> {
    FIXED_VERSIONS
        .iter()
        .find(|(fixed, _, _)| *fixed == branch)
        .map(|(_, version, bulletin)| (*version, *bulletin))
}

/// The largest plausible distance of a new branch from the newest known one. Branch numbers grew by about 25 a year
/// since 2020.
const MAX_DISTANCE: u16 = 100;

/// The classification of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// It exists and runs CUDA 12.
    Known,
    /// It exists, has ended, and is too old for CUDA 12.
    Ended,
    /// It can be newer than the table.
    New,
    /// It does not exist.
    Unknown,
}

/// Classifies a branch.
pub fn branch_status(branch: u16) -> BranchStatus {
    let newest = BRANCHES.last().copied().unwrap_or_default();
    if BRANCHES.contains(&branch) {
        if Some(branch) < min_branch_for(12) {
            BranchStatus::Ended
        } else {
            BranchStatus::Known
        }
    } else if branch > newest && branch - newest <= MAX_DISTANCE {
        BranchStatus::New
    } else {
        BranchStatus::Unknown
    }
}

/// The branch of the first CUDA version that supports a compute capability, if the CUDA release notes list it.
pub fn first_branch_for(capability: ComputeCapability) -> Option<u16> {
    let (major, minor) = first_cuda_for(capability)?;
    let first = RELEASES
        .iter()
        .find(|release| (release.major, release.minor, release.update) == (major, minor, 0))?;
    Some(first.driver.branch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::MODELS;

    #[test]
    fn branches_are_classified() {
        assert!(BRANCHES.is_sorted_by(|a, b| a < b));
        for (branch, status) in [
            (450, BranchStatus::Ended),
            (520, BranchStatus::Ended),
            (525, BranchStatus::Known),
            (580, BranchStatus::Known),
            (581, BranchStatus::Unknown),
            (58, BranchStatus::Unknown),
            (625, BranchStatus::New),
            (999, BranchStatus::Unknown),
        ] {
            assert_eq!(branch_status(branch), status, "{branch}");
        }
    }

    #[test]
    fn branches_of_cuda_and_of_models_are_known() {
        for release in RELEASES {
            assert!(
                BRANCHES.contains(&release.driver.branch),
                "{}",
                release.driver
            );
        }
        for (branch, version, _) in FIXED_VERSIONS {
            assert!(BRANCHES.contains(branch), "{version}");
        }
        for model in MODELS {
            for branch in [Some(model.min_driver_branch), model.max_driver_branch]
                .into_iter()
                .flatten()
            {
                assert!(BRANCHES.contains(&branch), "{} of {}", branch, model.key);
            }
        }
    }

    #[test]
    fn architectures_need_the_driver_of_their_first_cuda() {
        for (major, minor, branch) in [
            (9, 0, Some(520)),
            (10, 0, Some(570)),
            (12, 0, Some(570)),
            (7, 5, None),
        ] {
            assert_eq!(first_branch_for(ComputeCapability { major, minor }), branch);
        }
        for model in MODELS {
            let first = first_branch_for(model.compute_capability);
            assert!(first <= Some(model.min_driver_branch), "{}", model.key);
        }
    }
}
