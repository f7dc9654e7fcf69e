//! How slices are called, and what is wrong with how a node is cut.

use std::collections::BTreeMap;
use std::fmt;

use gpuc_schema::node_config::{MigGpu, MigSlice, NodeSharing};

use super::share::GPU;
use super::{Gpu, Inventory};
use crate::nvml::{GpuInfo, SliceInfo};

/// The resource that a slice is offered as. Where all slices of a node are alike (`single`) they are GPUs to their
/// users; otherwise each profile has its name (`mixed`). A compute instance that has only a part of its GPU instance
/// shares memory with its neighbours and is not offered, as with NVIDIA's plugin.
pub fn resource_of(slice: &SliceInfo, strategy: &str) -> Option<String> {
    if slice.ci_slices != slice.gi_slices {
        return None;
    }
    if strategy == "single" {
        return Some(GPU.to_owned());
    }
    Some(format!(
        "nvidia.com/mig-{}",
        slice.profile.replace('+', ".")
    ))
}

/// The profile that all slices of a node have under `single`: what the compiler wants or, where the cloud cuts, what
/// most slices have. Others do not go by the same name: who asks for a GPU would not know what comes.
pub fn usual_profile<'p>(inventory: &'p Inventory, sharing: &'p NodeSharing) -> Option<&'p str> {
    let NodeSharing::Mig { strategy, gpus, .. } = sharing else {
        return None;
    };
    if strategy != "single" {
        return None;
    }
    let wanted = gpus.iter().flat_map(|gpu| &gpu.slices).next();
    if let Some(slice) = wanted {
        return Some(&slice.profile);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let infos = inventory.gpus.iter().filter_map(Gpu::info);
    let slices = infos.flat_map(|info| &info.slices);
    for slice in slices.filter(|slice| resource_of(slice, strategy).is_some()) {
        *counts.entry(&slice.profile).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let of_most = counts.into_iter().find(|(_, count)| *count == most);
    of_most.map(|(profile, _)| profile)
}

/// What keeps a part of a node from being offered, or will change it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayoutProblem {
    /// Under `single` all GPUs are in MIG mode or none is; this one is not, and is not offered.
    NotInMigMode {
        /// The driver's index.
        gpu: u32,
    },
    /// In MIG mode without a slice: it offers nothing.
    Uncut {
        /// The driver's index.
        gpu: u32,
    },
    /// MIG mode goes on or off with the next reset.
    Pending {
        /// The driver's index.
        gpu: u32,
        /// Whether it will be on.
        on: bool,
    },
    /// Under `single` all slices are alike; this one is not, and is not offered.
    Unlike {
        /// The driver's index.
        gpu: u32,
        /// The slice's index.
        slice: u32,
        /// What it is.
        profile: String,
        /// What the others are.
        usual: String,
    },
    /// The compute instance has a part of its GPU instance only, and is not offered.
    Partial {
        /// The driver's index.
        gpu: u32,
        /// The slice's index.
        slice: u32,
        /// What it is.
        profile: String,
    },
}

impl fmt::Display for LayoutProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInMigMode { gpu } => write!(
                f,
                "GPU {gpu} is not in MIG mode and others are: strategy `single` does not offer it"
            ),
            Self::Uncut { gpu } => {
                write!(f, "GPU {gpu} is in MIG mode and not cut: it offers nothing")
            }
            Self::Pending { gpu, on } => {
                let mode = if *on { "on" } else { "off" };
                write!(f, "GPU {gpu}: MIG mode goes {mode} with its next reset")
            }
            Self::Unlike {
                gpu,
                slice,
                profile,
                usual,
            } => write!(
                f,
                "slice {slice} of GPU {gpu} is {profile} and others are {usual}: strategy `single` does not offer it"
            ),
            Self::Partial {
                gpu,
                slice,
                profile,
            } => write!(
                f,
                "slice {slice} of GPU {gpu} ({profile}) shares its memory with others: it is not offered"
            ),
        }
    }
}

/// What is wrong with how a node is cut, apart from what the compiler wants. GPUs that do not answer are passed over.
pub fn layout_problems(inventory: &Inventory, sharing: &NodeSharing) -> Vec<LayoutProblem> {
    let NodeSharing::Mig { strategy, .. } = sharing else {
        return Vec::new();
    };
    let single = strategy == "single";
    let any_cut = any_in_mig_mode(inventory);
    let usual = usual_profile(inventory, sharing);
    let mut problems = Vec::new();
    for info in answering(inventory) {
        let gpu = info.index;
        if let Some(mode) = info.mig.filter(|mode| mode.enabled != mode.pending) {
            let on = mode.pending;
            problems.push(LayoutProblem::Pending { gpu, on });
        }
        if !in_mig_mode(info) {
            if single && any_cut {
                problems.push(LayoutProblem::NotInMigMode { gpu });
            }
            continue;
        }
        if info.slices.is_empty() {
            problems.push(LayoutProblem::Uncut { gpu });
        }
        for slice in &info.slices {
            let profile = slice.profile.clone();
            if resource_of(slice, strategy).is_none() {
                problems.push(LayoutProblem::Partial {
                    gpu,
                    slice: slice.index,
                    profile,
                });
            } else if let Some(usual) = usual.filter(|usual| *usual != profile) {
                problems.push(LayoutProblem::Unlike {
                    gpu,
                    slice: slice.index,
                    profile,
                    usual: usual.to_owned(),
                });
            }
        }
    }
    problems
}

/// In what a GPU is cut otherwise than the compiler wants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayoutDifference {
    /// The GPU is not there.
    NoGpu {
        /// The driver's index.
        gpu: u32,
    },
    /// MIG mode is on and should not be, or the other way round.
    Mode {
        /// The driver's index.
        gpu: u32,
        /// Whether it is on.
        on: bool,
    },
    /// A slice is missing.
    Missing {
        /// The driver's index.
        gpu: u32,
        /// Its profile.
        profile: String,
        /// Where it lies, where that is known: start and size in memory slices.
        place: Option<(u32, u32)>,
    },
    /// A slice is there that nobody wants.
    Extra {
        /// The driver's index.
        gpu: u32,
        /// Its profile.
        profile: String,
        /// Where it lies, where that is known: start and size in memory slices.
        place: Option<(u32, u32)>,
    },
}

impl fmt::Display for LayoutDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |place: &Option<(u32, u32)>| match place {
            Some((start, size)) => format!(" at {start}:{size}"),
            None => String::new(),
        };
        match self {
            Self::NoGpu { gpu } => write!(f, "GPU {gpu} is to be cut, and is not there"),
            Self::Mode { gpu, on: true } => {
                write!(f, "GPU {gpu} is in MIG mode, and is to be whole")
            }
            Self::Mode { gpu, on: false } => {
                write!(f, "GPU {gpu} is not in MIG mode, and is to be cut")
            }
            Self::Missing {
                gpu,
                profile,
                place,
            } => write!(f, "GPU {gpu} has no {profile}{}", at(place)),
            Self::Extra {
                gpu,
                profile,
                place,
            } => write!(f, "GPU {gpu} has a {profile}{} too many", at(place)),
        }
    }
}

/// In what the GPUs are cut otherwise than wanted. One that does not answer is passed over, and so is one of which
/// nothing is said.
pub fn layout_differences(inventory: &Inventory, wanted: &[MigGpu]) -> Vec<LayoutDifference> {
    let mut differences = Vec::new();
    for wish in wanted {
        let gpu = wish.index;
        let info = match inventory.gpu(gpu) {
            Some(Gpu::Known { info, .. }) => info,
            Some(Gpu::Silent { .. }) => continue,
            None => {
                differences.push(LayoutDifference::NoGpu { gpu });
                continue;
            }
        };
        let on = in_mig_mode(info);
        if on == wish.slices.is_empty() {
            differences.push(LayoutDifference::Mode { gpu, on });
        }
        differences.extend(slices_that_differ(info, &wish.slices));
    }
    differences
}

fn slices_that_differ(info: &GpuInfo, wanted: &[MigSlice]) -> Vec<LayoutDifference> {
    let gpu = info.index;
    let mut there: Vec<&SliceInfo> = info.slices.iter().collect();
    let mut differences = Vec::new();
    for wish in wanted {
        let place = (u32::from(wish.start), u32::from(wish.size));
        // A driver that does not say where a slice lies is believed.
        let fits = |slice: &&SliceInfo| {
            slice.profile == wish.profile && slice.place.is_none_or(|found| found == place)
        };
        if let Some(found) = there.iter().position(fits) {
            there.remove(found);
        } else {
            differences.push(LayoutDifference::Missing {
                gpu,
                profile: wish.profile.clone(),
                place: Some(place),
            });
        }
    }
    differences.extend(there.into_iter().map(|slice| LayoutDifference::Extra {
        gpu,
        profile: slice.profile.clone(),
        place: slice.place,
    }));
    differences
}

/// Whether the GPU's MIG mode is on now.
pub(super) fn in_mig_mode(info: &GpuInfo) -> bool {
    info.mig.is_some_and(|mode| mode.enabled)
}

/// Whether any GPU's MIG mode is on, or was when it last answered.
pub(super) fn any_in_mig_mode(inventory: &Inventory) -> bool {
    let mut infos = inventory.gpus.iter().filter_map(Gpu::info);
    infos.any(in_mig_mode)
}

fn answering(inventory: &Inventory) -> impl Iterator<Item = &GpuInfo> {
    inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Known { info, .. } => Some(info),
        Gpu::Silent { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::{inventory, mig, mig_gpu};
    use crate::nvml::{NvmlError, NvmlErrorKind};

    fn problems(inventory: &Inventory, strategy: &str) -> Vec<String> {
        layout_problems(inventory, &mig(strategy, vec![]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn differences(words: &str, wanted: &[MigGpu]) -> Vec<String> {
        layout_differences(&inventory(words), wanted)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn slice_mut(inventory: &mut Inventory, index: usize) -> &mut SliceInfo {
        match &mut inventory.gpus[0] {
            Gpu::Known { info, .. } => &mut info.slices[index],
            Gpu::Silent { .. } => panic!("it answers"),
        }
    }

    /// Names as NVIDIA/k8s-device-plugin@1b826acc makes them.
    #[test]
    fn slices_are_called_as_with_nvidias_plugin() {
        let mut machine = inventory("a100-sxm4-40gb:mig=1g.5gb.me");
        let slice = slice_mut(&mut machine, 0);
        let mixed = |slice: &SliceInfo| resource_of(slice, "mixed");
        assert_eq!(mixed(slice).as_deref(), Some("nvidia.com/mig-1g.5gb.me"));
        assert_eq!(
            resource_of(slice, "single").as_deref(),
            Some("nvidia.com/gpu")
        );
        slice.profile = "1g.24gb-me".to_owned();
        assert_eq!(mixed(slice).as_deref(), Some("nvidia.com/mig-1g.24gb-me"));
        slice.gi_slices = 3;
        assert_eq!((mixed(slice), resource_of(slice, "single")), (None, None));
    }

    #[test]
    fn equal_slices_and_whole_gpus_have_no_problem() {
        for strategy in ["single", "mixed"] {
            assert_eq!(
                problems(&inventory("h100x2:mig=1g.10gb*7"), strategy),
                [""; 0]
            );
            assert_eq!(problems(&inventory("h100x2"), strategy), [""; 0]);
        }
        let uneven = inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb*2");
        assert_eq!(problems(&uneven, "mixed"), [""; 0]);
        assert_eq!(layout_problems(&uneven, &NodeSharing::Exclusive), []);
    }

    #[test]
    fn single_wants_all_alike() {
        assert_eq!(
            problems(
                &inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb"),
                "single"
            ),
            [
                "GPU 1 is not in MIG mode and others are: strategy `single` does not offer it",
                "slice 0 of GPU 2 is 3g.40gb and others are 1g.10gb: strategy `single` does not offer it",
            ],
        );
        assert_eq!(
            problems(&inventory("h100:mig+h100:mig=7g.80gb"), "single"),
            ["GPU 0 is in MIG mode and not cut: it offers nothing"],
        );
    }

    #[test]
    fn parts_of_instances_and_modes_to_come_are_named() {
        let mut machine = inventory("h100:mig=3g.40gb*2");
        let slice = slice_mut(&mut machine, 1);
        "1c.3g.40gb".clone_into(&mut slice.profile);
        slice.ci_slices = 1;
        if let Gpu::Known { info, .. } = &mut machine.gpus[0] {
            info.mig.as_mut().expect("it has MIG").pending = false;
        }
        let expected = [
            "GPU 0: MIG mode goes off with its next reset",
            "slice 1 of GPU 0 (1c.3g.40gb) shares its memory with others: it is not offered",
        ];
        assert_eq!(problems(&machine, "mixed"), expected);
        assert_eq!(problems(&machine, "single"), expected);
    }

    #[test]
    fn what_the_compiler_wants_is_usual() {
        let machine = inventory("h100:mig=1g.10gb*7+h100:mig=3g.40gb*2");
        let usual = |gpus| usual_profile(&machine, &mig("single", gpus)).map(str::to_owned);
        assert_eq!(usual(vec![]).as_deref(), Some("1g.10gb"));
        let wish = mig_gpu(0, &[("3g.40gb", 0, 4)]);
        assert_eq!(usual(vec![wish]).as_deref(), Some("3g.40gb"));
        assert_eq!(usual_profile(&machine, &mig("mixed", vec![])), None);
        assert_eq!(
            usual_profile(&inventory("h100"), &mig("single", vec![])),
            None
        );
    }

    #[test]
    fn a_node_that_is_cut_as_wanted_differs_in_nothing() {
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
    fn differences_are_named() {
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
                "GPU 0 has no 3g.40gb at 4:4",
                "GPU 0 has no 1g.10gb at 0:1",
                "GPU 0 has no 1g.10gb at 1:1",
                "GPU 0 has a 3g.40gb at 0:4 too many",
                "GPU 0 has a 1g.10gb at 4:1 too many",
                "GPU 1 is not in MIG mode, and is to be cut",
                "GPU 1 has no 7g.80gb at 0:8",
                "GPU 2 is in MIG mode, and is to be whole",
                "GPU 2 has a 7g.80gb at 0:8 too many",
                "GPU 3 is to be cut, and is not there",
            ],
        );
    }

    #[test]
    fn a_place_that_nobody_knows_is_believed_and_a_silent_gpu_passed_over() {
        let mut machine = inventory("h100x2:mig=1g.10gb");
        slice_mut(&mut machine, 0).place = None;
        machine.gpus[1] = Gpu::Silent {
            index: 1,
            last: None,
            error: NvmlError {
                kind: NvmlErrorKind::GpuLost,
                message: String::new(),
            },
        };
        let wish = |index| mig_gpu(index, &[("1g.10gb", 3, 1)]);
        assert_eq!(layout_differences(&machine, &[wish(0), wish(1)]), []);
        assert_eq!(problems(&machine, "single"), [""; 0]);
    }
}
