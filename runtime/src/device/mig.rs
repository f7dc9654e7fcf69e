//! The resource names of MIG devices, and problems of the MIG configuration of a node.

use std::collections::BTreeMap;
use std::fmt;

use gpuc_schema::config::MigStrategy;
use gpuc_schema::node_config::{MigGpu, MigSlice, NodeSharing};

use super::advertised::GPU;
use super::{Gpu, Inventory};
use crate::nvml::{GpuInfo, MigDeviceInfo};

/// Returns the resource that advertises a MIG device. With strategy `single`, MIG devices are advertised as
/// GPUs; with `mixed`, each profile has its own name. A compute instance that uses only a part of its GPU instance
/// shares memory with others and is not advertised, as with NVIDIA's plugin.
pub fn resource_for(mig_device: &MigDeviceInfo, strategy: MigStrategy) -> Option<String> {
    if mig_device.ci_slices != mig_device.gi_slices {
        return None;
    }
    match strategy {
        MigStrategy::Single => Some(GPU.to_owned()),
        MigStrategy::Mixed => Some(format!(
            "nvidia.com/mig-{}",
            mig_device.profile.replace('+', ".")
        )),
    }
}

/// Returns the profile of all MIG devices under `single`: the configured one or, if the cloud provider partitions the
/// GPUs, the most frequent one. Other profiles are not advertised: a pod that requests a GPU could get either.
pub fn common_profile<'p>(inventory: &'p Inventory, sharing: &'p NodeSharing) -> Option<&'p str> {
    let NodeSharing::Mig { strategy, gpus, .. } = sharing else {
        return None;
    };
    if *strategy != MigStrategy::Single {
        return None;
    }
    let wanted = gpus.iter().flat_map(|gpu| &gpu.slices).next();
    if let Some(slice) = wanted {
        return Some(&slice.profile);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let infos = inventory.gpus.iter().filter_map(Gpu::info);
    let mig_devices = infos.flat_map(|info| &info.slices);
    for mig_device in mig_devices.filter(|mig_device| resource_for(mig_device, *strategy).is_some())
    {
        *counts.entry(&mig_device.profile).or_default() += 1;
    }
    let max_count = counts.values().copied().max()?;
    let of_most = counts.into_iter().find(|(_, count)| *count == max_count);
    of_most.map(|(profile, _)| profile)
}

/// A problem of the MIG configuration that prevents advertising, or a pending change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MigProblem {
    /// Under `single`, all GPUs or none must be in MIG mode; this one is not, and is not advertised.
    NotInMigMode {
        /// The driver's index.
        gpu: u32,
    },
    /// In MIG mode without MIG devices: it advertises nothing.
    NotPartitioned {
        /// The driver's index.
        gpu: u32,
    },
    /// The MIG mode changes at the next reset.
    Pending {
        /// The driver's index.
        gpu: u32,
        /// The mode after the reset.
        on: bool,
    },
    /// Under `single`, all MIG devices must have one profile; this one differs and is not advertised.
    OtherProfile {
        /// The driver's index.
        gpu: u32,
        /// The index of the MIG device.
        device_index: u32,
        /// Its profile.
        profile: String,
        /// The profile of the others.
        common: String,
    },
    /// In MIG mode, although the pool does not use MIG: it is unhealthy.
    InMigMode {
        /// The driver's index.
        gpu: u32,
    },
    /// The compute instance uses only a part of its GPU instance, and is not advertised.
    Partial {
        /// The driver's index.
        gpu: u32,
        /// The index of the MIG device.
        device_index: u32,
        /// Its profile.
        profile: String,
    },
}

impl fmt::Display for MigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInMigMode { gpu } => write!(
                f,
                "GPU {gpu} is not in MIG mode but others are: strategy `single` does not advertise it"
            ),
            Self::NotPartitioned { gpu } => {
                write!(
                    f,
                    "GPU {gpu} is in MIG mode without MIG devices: it advertises nothing"
                )
            }
            Self::InMigMode { gpu } => write!(
                f,
                "GPU {gpu} is in MIG mode, but the pool does not use MIG, and containers would get a part of it or \
                 nothing: run `nvidia-smi -i {gpu} -mig 0` on the node"
            ),
            Self::Pending { gpu, on } => {
                let mode = if *on { "on" } else { "off" };
                write!(f, "GPU {gpu}: MIG mode turns {mode} at the next GPU reset")
            }
            Self::OtherProfile {
                gpu,
                device_index,
                profile,
                common,
            } => write!(
                f,
                "MIG device {device_index} of GPU {gpu} is {profile}, others are {common}: strategy `single` does not \
                 advertise it"
            ),
            Self::Partial {
                gpu,
                device_index,
                profile,
            } => write!(
                f,
                "MIG device {device_index} of GPU {gpu} ({profile}) shares its memory with others: it is not advertised"
            ),
        }
    }
}

/// Returns the problems of the MIG configuration, independent of the expected one. Unresponsive GPUs are
/// skipped.
pub fn mig_problems(inventory: &Inventory, sharing: &NodeSharing) -> Vec<MigProblem> {
    let NodeSharing::Mig { strategy, .. } = sharing else {
        let in_mig_mode = responding_gpus(inventory).filter(|info| is_in_mig_mode(info));
        return in_mig_mode
            .map(|info| MigProblem::InMigMode { gpu: info.index })
            .collect();
    };
    let single = *strategy == MigStrategy::Single;
    let any_cut = has_gpu_in_mig_mode(inventory);
    let common = common_profile(inventory, sharing);
    let mut problems = Vec::new();
    for info in responding_gpus(inventory) {
        let gpu = info.index;
        if let Some(mode) = info.mig.filter(|mode| mode.enabled != mode.pending) {
            let on = mode.pending;
            problems.push(MigProblem::Pending { gpu, on });
        }
        if !is_in_mig_mode(info) {
            if single && any_cut {
                problems.push(MigProblem::NotInMigMode { gpu });
            }
            continue;
        }
        if info.slices.is_empty() {
            problems.push(MigProblem::NotPartitioned { gpu });
        }
        for mig_device in &info.slices {
            let profile = mig_device.profile.clone();
            if resource_for(mig_device, *strategy).is_none() {
                problems.push(MigProblem::Partial {
                    gpu,
                    device_index: mig_device.index,
                    profile,
                });
            } else if let Some(common) = common.filter(|common| *common != profile) {
                problems.push(MigProblem::OtherProfile {
                    gpu,
                    device_index: mig_device.index,
                    profile,
                    common: common.to_owned(),
                });
            }
        }
    }
    problems
}

/// A difference between the MIG devices of a GPU and the configured ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MigDifference {
    /// The GPU does not exist.
    NoGpu {
        /// The driver's index.
        gpu: u32,
    },
    /// The MIG mode differs from the configured one.
    Mode {
        /// The driver's index.
        gpu: u32,
        /// Whether MIG mode is on.
        on: bool,
    },
    /// A configured MIG device does not exist.
    Missing {
        /// The driver's index.
        gpu: u32,
        /// Its profile.
        profile: String,
        /// Its placement, if known: start and size in memory slices.
        placement: Option<(u32, u32)>,
    },
    /// A MIG device exists that is not configured.
    Extra {
        /// The driver's index.
        gpu: u32,
        /// Its profile.
        profile: String,
        /// Its placement, if known: start and size in memory slices.
        placement: Option<(u32, u32)>,
    },
}

impl fmt::Display for MigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |placement: &Option<(u32, u32)>| match placement {
            Some((start, size)) => format!(" at {start}:{size}"),
            None => String::new(),
        };
        match self {
            Self::NoGpu { gpu } => {
                write!(f, "GPU {gpu} has configured MIG devices but does not exist")
            }
            Self::Mode { gpu, on: true } => {
                write!(f, "GPU {gpu} is in MIG mode but must not be partitioned")
            }
            Self::Mode { gpu, on: false } => {
                write!(f, "GPU {gpu} is not in MIG mode but must be partitioned")
            }
            Self::Missing {
                gpu,
                profile,
                placement,
            } => write!(f, "GPU {gpu} lacks a {profile}{}", at(placement)),
            Self::Extra {
                gpu,
                profile,
                placement,
            } => write!(f, "GPU {gpu} has an unexpected {profile}{}", at(placement)),
        }
    }
}

/// Returns the differences between the MIG devices and the configured ones. Unresponsive GPUs and GPUs without
/// configuration are skipped.
pub fn mig_differences(inventory: &Inventory, wanted: &[MigGpu]) -> Vec<MigDifference> {
    let mut differences = Vec::new();
    for requested in wanted {
        let gpu = requested.index;
        let info = match inventory.gpu(gpu) {
            Some(Gpu::Responding { info, .. }) => info,
            Some(Gpu::Unresponsive { .. }) => continue,
            None => {
                differences.push(MigDifference::NoGpu { gpu });
                continue;
            }
        };
        let on = is_in_mig_mode(info);
        if on == requested.slices.is_empty() {
            differences.push(MigDifference::Mode { gpu, on });
        }
        differences.extend(mig_device_differences(info, &requested.slices));
    }
    differences
}

fn mig_device_differences(info: &GpuInfo, wanted: &[MigSlice]) -> Vec<MigDifference> {
    let gpu = info.index;
    let mut unmatched: Vec<&MigDeviceInfo> = info.slices.iter().collect();
    let mut differences = Vec::new();
    for requested in wanted {
        let placement = (u32::from(requested.start), u32::from(requested.size));
        // If the driver does not report the placement, any placement matches.
        let fits = |mig_device: &&MigDeviceInfo| {
            mig_device.profile == requested.profile
                && mig_device.place.is_none_or(|found| found == placement)
        };
        if let Some(found) = unmatched.iter().position(fits) {
            unmatched.remove(found);
        } else {
            differences.push(MigDifference::Missing {
                gpu,
                profile: requested.profile.clone(),
                placement: Some(placement),
            });
        }
    }
    differences.extend(
        unmatched
            .into_iter()
            .map(|mig_device| MigDifference::Extra {
                gpu,
                profile: mig_device.profile.clone(),
                placement: mig_device.place,
            }),
    );
    differences
}

/// Whether MIG mode is on.
pub(super) fn is_in_mig_mode(info: &GpuInfo) -> bool {
    info.mig.is_some_and(|mode| mode.enabled)
}

/// Whether the MIG mode of any GPU is on, or was when it last responded.
pub(super) fn has_gpu_in_mig_mode(inventory: &Inventory) -> bool {
    let mut infos = inventory.gpus.iter().filter_map(Gpu::info);
    infos.any(is_in_mig_mode)
}

fn responding_gpus(inventory: &Inventory) -> impl Iterator<Item = &GpuInfo> {
    inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Responding { info, .. } => Some(info),
        Gpu::Unresponsive { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::{inventory, mig, mig_gpu};
    use crate::nvml::{NvmlError, NvmlErrorKind};

    fn problems(inventory: &Inventory, strategy: &str) -> Vec<String> {
        mig_problems(inventory, &mig(strategy, vec![]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn differences(words: &str, wanted: &[MigGpu]) -> Vec<String> {
        mig_differences(&inventory(words), wanted)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn slice_mut(inventory: &mut Inventory, index: usize) -> &mut MigDeviceInfo {
        match &mut inventory.gpus[0] {
            Gpu::Responding { info, .. } => &mut info.slices[index],
            Gpu::Unresponsive { .. } => panic!("it answers"),
        }
    }

    /// The names are those of NVIDIA/k8s-device-plugin@1b826acc.
    #[test]
    fn resource_names_match_nvidias_plugin() {
        let mut machine = inventory("a100-sxm4-40gb:mig=1g.5gb.me");
        let mig_device = slice_mut(&mut machine, 0);
        let mixed = |mig_device: &MigDeviceInfo| resource_for(mig_device, MigStrategy::Mixed);
        assert_eq!(
            mixed(mig_device).as_deref(),
            Some("nvidia.com/mig-1g.5gb.me")
        );
        assert_eq!(
            resource_for(mig_device, MigStrategy::Single).as_deref(),
            Some("nvidia.com/gpu")
        );
        mig_device.profile = "1g.24gb-me".to_owned();
        assert_eq!(
            mixed(mig_device).as_deref(),
            Some("nvidia.com/mig-1g.24gb-me")
        );
        mig_device.gi_slices = 3;
        assert_eq!(
            (
                mixed(mig_device),
                resource_for(mig_device, MigStrategy::Single)
            ),
            (None, None)
        );
    }

    #[test]
    fn uniform_mig_devices_have_no_problem() {
        for strategy in ["single", "mixed"] {
            assert_eq!(
                problems(&inventory("h100x2:mig=1g.10gb*7"), strategy),
                [""; 0]
            );
            assert_eq!(problems(&inventory("h100x2"), strategy), [""; 0]);
        }
        let uneven = inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb*2");
        assert_eq!(problems(&uneven, "mixed"), [""; 0]);
        let in_mig_mode = [0, 2].map(|gpu| MigProblem::InMigMode { gpu });
        assert_eq!(mig_problems(&uneven, &NodeSharing::Exclusive), in_mig_mode);
    }

    #[test]
    fn single_strategy_requires_one_profile() {
        assert_eq!(
            problems(
                &inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb"),
                "single"
            ),
            [
                "GPU 1 is not in MIG mode but others are: strategy `single` does not advertise it",
                "MIG device 0 of GPU 2 is 3g.40gb, others are 1g.10gb: strategy `single` does not advertise it",
            ],
        );
        assert_eq!(
            problems(&inventory("h100:mig+h100:mig=7g.80gb"), "single"),
            ["GPU 0 is in MIG mode without MIG devices: it advertises nothing"],
        );
    }

    #[test]
    fn partial_instances_and_pending_modes_are_problems() {
        let mut machine = inventory("h100:mig=3g.40gb*2");
        let mig_device = slice_mut(&mut machine, 1);
        "1c.3g.40gb".clone_into(&mut mig_device.profile);
        mig_device.ci_slices = 1;
        if let Gpu::Responding { info, .. } = &mut machine.gpus[0] {
            info.mig.as_mut().expect("the GPU supports MIG").pending = false;
        }
        let expected = [
            "GPU 0: MIG mode turns off at the next GPU reset",
            "MIG device 1 of GPU 0 (1c.3g.40gb) shares its memory with others: it is not advertised",
        ];
        assert_eq!(problems(&machine, "mixed"), expected);
        assert_eq!(problems(&machine, "single"), expected);
    }

    #[test]
    fn configured_profile_is_the_common_one() {
        let machine = inventory("h100:mig=1g.10gb*7+h100:mig=3g.40gb*2");
        let common = |gpus| common_profile(&machine, &mig("single", gpus)).map(str::to_owned);
        assert_eq!(common(vec![]).as_deref(), Some("1g.10gb"));
        let wanted = mig_gpu(0, &[("3g.40gb", 0, 4)]);
        assert_eq!(common(vec![wanted]).as_deref(), Some("3g.40gb"));
        assert_eq!(common_profile(&machine, &mig("mixed", vec![])), None);
        assert_eq!(
            common_profile(&inventory("h100"), &mig("single", vec![])),
            None
        );
    }

    #[test]
    fn configured_mig_devices_have_no_differences() {
        let wanted = [
            mig_gpu(0, &[("4g.40gb", 0, 4), ("3g.40gb", 4, 4)]),
            mig_gpu(1, &[]),
        ];
        assert_eq!(
            differences("h100:mig=3g.40gb,4g.40gb+h100", &wanted),
            [""; 0]
        );
        assert_eq!(differences("h100:mig=3g.40gb,4g.40gb+h100", &[]), [""; 0]);
    }

    #[test]
    fn differences_are_described() {
        let wanted = [
            mig_gpu(
                0,
                &[("3g.40gb", 4, 4), ("1g.10gb", 0, 1), ("1g.10gb", 1, 1)],
            ),
            mig_gpu(1, &[("7g.80gb", 0, 8)]),
            mig_gpu(2, &[]),
            mig_gpu(3, &[("7g.80gb", 0, 8)]),
        ];
        assert_eq!(
            differences("h100:mig=3g.40gb,1g.10gb+h100+h100:mig=7g.80gb", &wanted),
            [
                "GPU 0 lacks a 3g.40gb at 4:4",
                "GPU 0 lacks a 1g.10gb at 0:1",
                "GPU 0 lacks a 1g.10gb at 1:1",
                "GPU 0 has an unexpected 3g.40gb at 0:4",
                "GPU 0 has an unexpected 1g.10gb at 4:1",
                "GPU 1 is not in MIG mode but must be partitioned",
                "GPU 1 lacks a 7g.80gb at 0:8",
                "GPU 2 is in MIG mode but must not be partitioned",
                "GPU 2 has an unexpected 7g.80gb at 0:8",
                "GPU 3 has configured MIG devices but does not exist",
            ],
        );
    }

    #[test]
    fn unknown_placement_matches_and_lost_gpu_is_skipped() {
        let mut machine = inventory("h100x2:mig=1g.10gb");
        slice_mut(&mut machine, 0).place = None;
        machine.gpus[1] = Gpu::Unresponsive {
            index: 1,
            last_info: None,
            error: NvmlError {
                kind: NvmlErrorKind::GpuLost,
                message: String::new(),
            },
        };
        let mig_gpu_at = |index| mig_gpu(index, &[("1g.10gb", 3, 1)]);
        assert_eq!(
            mig_differences(&machine, &[mig_gpu_at(0), mig_gpu_at(1)]),
            []
        );
        assert_eq!(problems(&machine, "single"), [""; 0]);
    }
}
