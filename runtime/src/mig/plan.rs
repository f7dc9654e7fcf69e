//! Plans the changes of a GPU's MIG configuration: pure, so that a dry run can print them.

use std::fmt;

use gpuc_schema::node_config::MigSlice;

use crate::nvml::MigMode;

/// The current MIG configuration of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its MIG mode; `None` if it does not support MIG.
    pub mode: Option<MigMode>,
    /// Its GPU instances.
    pub instances: Vec<Instance>,
    /// The number of processes that use it.
    pub processes: u32,
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its NVML ID.
    pub id: u32,
    /// The profile, `1g.10gb`; `None` if gpuc knows no profile of this size.
    pub profile: Option<String>,
    /// The first memory slice.
    pub start: u8,
    /// The number of compute instances that use all of it: one, if gpuc created it.
    pub whole_compute_instances: u32,
    /// The number of compute instances.
    pub compute_instances: u32,
}

/// One change of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Enable MIG mode.
    TurnOn,
    /// Disable MIG mode.
    TurnOff,
    /// Delete a GPU instance with its compute instances.
    Remove {
        /// Its NVML ID.
        id: u32,
        /// Its name in messages.
        name: String,
    },
    /// Create the compute instance of a GPU instance that has none.
    Complete {
        /// The NVML ID of the GPU instance.
        id: u32,
        /// Its name in messages.
        name: String,
    },
    /// Create a GPU instance and the compute instance that uses all of it.
    Make(MigSlice),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TurnOn => f.write_str("enable MIG mode"),
            Self::TurnOff => f.write_str("disable MIG mode"),
            Self::Remove { name, .. } => write!(f, "delete {name}"),
            Self::Complete { name, .. } => write!(f, "create the compute instance of {name}"),
            Self::Make(slice) => write!(
                f,
                "create {} at memory slice {}",
                slice.profile, slice.start
            ),
        }
    }
}

/// Why a GPU is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not support MIG.
    NoMig,
    /// Processes use it.
    InUse {
        /// The number of processes.
        processes: u32,
    },
    /// Its MIG mode changes at the next reset.
    ResetPending,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMig => f.write_str("it does not support MIG: use a GPU model that does"),
            Self::InUse { processes } => {
                let use_it = if *processes == 1 {
                    "process uses it"
                } else {
                    "processes use it"
                };
                write!(f, "{processes} {use_it}: drain the node first")
            }
            Self::ResetPending => f.write_str(
                "its MIG mode changes at the next GPU reset: run nvidia-smi --gpu-reset, or reboot the node",
            ),
        }
    }
}

/// Returns the steps in order; none if the GPU matches the configuration. MIG devices that match are not changed.
///
/// Without configured MIG devices, MIG mode is disabled.
pub fn plan(cut: &Cut, wanted: &[MigSlice]) -> Result<Vec<Step>, Refusal> {
    let Some(mode) = cut.mode else {
        return if wanted.is_empty() {
            Ok(Vec::new())
        } else {
            Err(Refusal::NoMig)
        };
    };
    let steps = if wanted.is_empty() {
        whole(cut, mode)
    } else {
        cutting(cut, mode, wanted)
    };
    if steps.is_empty() && mode.enabled == mode.pending {
        return Ok(steps);
    }
    if mode.enabled != mode.pending && mode.pending != wanted.is_empty() {
        return Err(Refusal::ResetPending);
    }
    if cut.processes > 0 {
        return Err(Refusal::InUse {
            processes: cut.processes,
        });
    }
    Ok(steps)
}

fn whole(cut: &Cut, mode: MigMode) -> Vec<Step> {
    let removed = cut.instances.iter().map(remove);
    let off = mode.pending.then_some(Step::TurnOff);
    removed.chain(off).collect()
}

fn cutting(cut: &Cut, mode: MigMode, wanted: &[MigSlice]) -> Vec<Step> {
    let on = (!mode.pending).then_some(Step::TurnOn);
    let is_wanted = |instance: &&Instance| wanted.iter().any(|slice| matches(instance, slice));
    let is_usable = |instance: &Instance| {
        instance.compute_instances == instance.whole_compute_instances
            && instance.compute_instances <= 1
    };
    let (kept, gone): (Vec<_>, Vec<_>) = cut
        .instances
        .iter()
        .partition(|instance| is_wanted(instance) && is_usable(instance));
    let completed = kept
        .iter()
        .filter(|instance| instance.compute_instances == 0)
        .map(|instance| Step::Complete {
            id: instance.id,
            name: name(instance),
        });
    let made = wanted
        .iter()
        .filter(|slice| !kept.iter().any(|instance| matches(instance, slice)))
        .cloned()
        .map(Step::Make);
    let removed = gone.iter().map(|instance| remove(instance));
    on.into_iter()
        .chain(removed)
        .chain(completed)
        .chain(made)
        .collect()
}

fn matches(instance: &Instance, slice: &MigSlice) -> bool {
    instance.start == slice.start && instance.profile.as_ref() == Some(&slice.profile)
}

fn remove(instance: &Instance) -> Step {
    Step::Remove {
        id: instance.id,
        name: name(instance),
    }
}

fn name(instance: &Instance) -> String {
    let profile = instance
        .profile
        .as_deref()
        .unwrap_or("an instance of an unknown profile");
    format!("{profile} at memory slice {}", instance.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: Option<MigMode> = Some(MigMode {
        enabled: true,
        pending: true,
    });
    const OFF: Option<MigMode> = Some(MigMode {
        enabled: false,
        pending: false,
    });

    fn wanted(slices: &[(&str, u8, u8)]) -> Vec<MigSlice> {
        let slice = |&(profile, start, size): &(&str, u8, u8)| MigSlice {
            profile: profile.to_owned(),
            start,
            size,
        };
        slices.iter().map(slice).collect()
    }

    fn instance(id: u32, profile: &str, start: u8) -> Instance {
        Instance {
            id,
            profile: Some(profile.to_owned()),
            start,
            whole_compute_instances: 1,
            compute_instances: 1,
        }
    }

    fn cut(mode: Option<MigMode>, instances: Vec<Instance>) -> Cut {
        Cut {
            mode,
            instances,
            processes: 0,
        }
    }

    fn said(steps: Result<Vec<Step>, Refusal>) -> Vec<String> {
        steps.unwrap().iter().map(Step::to_string).collect()
    }

    #[test]
    fn a_whole_gpu_is_cut() {
        let steps = plan(
            &cut(OFF, vec![]),
            &wanted(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]),
        );
        let expected = [
            "enable MIG mode",
            "create 3g.40gb at memory slice 0",
            "create 3g.40gb at memory slice 4",
        ];
        assert_eq!(said(steps), expected);
    }

    #[test]
    fn what_is_as_wanted_is_not_touched_even_in_use() {
        let mut as_wanted = cut(
            ON,
            vec![instance(1, "3g.40gb", 4), instance(2, "3g.40gb", 0)],
        );
        as_wanted.processes = 3;
        let layout = wanted(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]);
        assert_eq!(plan(&as_wanted, &layout), Ok(vec![]));
        let other = wanted(&[("3g.40gb", 0, 4), ("2g.20gb", 4, 2)]);
        assert_eq!(
            plan(&as_wanted, &other),
            Err(Refusal::InUse { processes: 3 })
        );
        as_wanted.processes = 0;
        let expected = [
            "delete 3g.40gb at memory slice 4",
            "create 2g.20gb at memory slice 4",
        ];
        assert_eq!(said(plan(&as_wanted, &other)), expected);
    }

    #[test]
    fn instances_cut_further_are_made_anew_and_empty_ones_completed() {
        let mut shared = instance(1, "3g.40gb", 0);
        (shared.compute_instances, shared.whole_compute_instances) = (3, 0);
        let mut empty = instance(2, "3g.40gb", 4);
        (empty.compute_instances, empty.whole_compute_instances) = (0, 0);
        let layout = wanted(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]);
        let expected = [
            "delete 3g.40gb at memory slice 0",
            "create the compute instance of 3g.40gb at memory slice 4",
            "create 3g.40gb at memory slice 0",
        ];
        assert_eq!(said(plan(&cut(ON, vec![shared, empty]), &layout)), expected);
    }

    #[test]
    fn no_slices_mean_a_whole_gpu() {
        let steps = plan(&cut(ON, vec![instance(1, "1g.10gb", 0)]), &[]);
        assert_eq!(
            said(steps),
            ["delete 1g.10gb at memory slice 0", "disable MIG mode"]
        );
        assert_eq!(plan(&cut(None, vec![]), &[]), Ok(vec![]));
        assert_eq!(plan(&cut(OFF, vec![]), &[]), Ok(vec![]));
    }

    #[test]
    fn what_needs_a_reset_says_so() {
        let turning_on = Some(MigMode {
            enabled: false,
            pending: true,
        });
        let layout = wanted(&[("1g.10gb", 0, 1)]);
        assert_eq!(
            plan(&cut(turning_on, vec![]), &layout),
            Err(Refusal::ResetPending)
        );
        assert_eq!(plan(&cut(None, vec![]), &layout), Err(Refusal::NoMig));
    }
}
