//! Plans the changes of a GPU's MIG configuration: pure, so that a dry run can print them.

use std::fmt;

use gpuc_schema::node_config::MigSlice;

use crate::nvml::MigMode;

/// The current MIG configuration of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigState {
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
    pub full_compute_instances: u32,
    /// The number of compute instances.
    pub compute_instances: u32,
}

/// One change of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigStep {
    /// Enable MIG mode.
    EnableMig,
    /// Disable MIG mode.
    DisableMig,
    /// Delete a GPU instance with its compute instances.
    DeleteInstance {
        /// Its NVML ID.
        id: u32,
        /// Its name in messages.
        name: String,
    },
    /// Create the compute instance of a GPU instance that has none.
    CreateComputeInstance {
        /// The NVML ID of the GPU instance.
        id: u32,
        /// Its name in messages.
        name: String,
    },
    /// Create a GPU instance and the compute instance that uses all of it.
    CreateInstance(MigSlice),
}

impl fmt::Display for MigStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnableMig => f.write_str("enable MIG mode"),
            Self::DisableMig => f.write_str("disable MIG mode"),
            Self::DeleteInstance { name, .. } => write!(f, "delete {name}"),
            Self::CreateComputeInstance { name, .. } => {
                write!(f, "create the compute instance of {name}")
            }
            Self::CreateInstance(slice) => write!(
                f,
                "create {} at memory slice {}",
                slice.profile, slice.start
            ),
        }
    }
}

/// Why a GPU is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// It does not support MIG.
    Unsupported,
    /// Processes use it.
    InUse {
        /// The number of processes.
        processes: u32,
    },
    /// Its MIG mode changes at the next reset.
    ResetPending,
    /// It does not have a profile.
    UnknownProfile {
        /// The profile's name.
        profile: String,
        /// The names of the profiles that it has.
        available: Vec<String>,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("it does not support MIG: use a GPU model that does"),
            Self::InUse { processes } => {
                let use_it = if *processes == 1 {
                    "process uses it"
                } else {
                    "processes use it"
                };
                write!(f, "{processes} {use_it}: drain the node first")
            }
            Self::UnknownProfile { profile, available } => {
                let available = available.join(", ");
                write!(f, "it has no MIG profile `{profile}`: use one of {available}")
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
pub fn plan(cut: &MigState, wanted: &[MigSlice]) -> Result<Vec<MigStep>, PlanError> {
    let Some(mode) = cut.mode else {
        return if wanted.is_empty() {
            Ok(Vec::new())
        } else {
            Err(PlanError::Unsupported)
        };
    };
    let steps = if wanted.is_empty() {
        steps_to_full_gpu(cut, mode)
    } else {
        steps_to_partition(cut, mode, wanted)
    };
    if steps.is_empty() && mode.enabled == mode.pending {
        return Ok(steps);
    }
    if mode.enabled != mode.pending && mode.pending != wanted.is_empty() {
        return Err(PlanError::ResetPending);
    }
    if cut.processes > 0 {
        return Err(PlanError::InUse {
            processes: cut.processes,
        });
    }
    Ok(steps)
}

fn steps_to_full_gpu(cut: &MigState, mode: MigMode) -> Vec<MigStep> {
    let removed = cut.instances.iter().map(delete_step);
    let disable = mode.pending.then_some(MigStep::DisableMig);
    removed.chain(disable).collect()
}

fn steps_to_partition(cut: &MigState, mode: MigMode, wanted: &[MigSlice]) -> Vec<MigStep> {
    let enable = (!mode.pending).then_some(MigStep::EnableMig);
    let is_wanted = |instance: &&Instance| wanted.iter().any(|slice| is_match(instance, slice));
    let is_usable = |instance: &Instance| {
        instance.compute_instances == instance.full_compute_instances
            && instance.compute_instances <= 1
    };
    let (kept_instances, removed_instances): (Vec<_>, Vec<_>) = cut
        .instances
        .iter()
        .partition(|instance| is_wanted(instance) && is_usable(instance));
    let completed = kept_instances
        .iter()
        .filter(|instance| instance.compute_instances == 0)
        .map(|instance| MigStep::CreateComputeInstance {
            id: instance.id,
            name: instance_name(instance),
        });
    let created = wanted
        .iter()
        .filter(|slice| {
            !kept_instances
                .iter()
                .any(|instance| is_match(instance, slice))
        })
        .cloned()
        .map(MigStep::CreateInstance);
    let removed = removed_instances
        .iter()
        .map(|instance| delete_step(instance));
    enable
        .into_iter()
        .chain(removed)
        .chain(completed)
        .chain(created)
        .collect()
}

fn is_match(instance: &Instance, slice: &MigSlice) -> bool {
    instance.start == slice.start && instance.profile.as_ref() == Some(&slice.profile)
}

fn delete_step(instance: &Instance) -> MigStep {
    MigStep::DeleteInstance {
        id: instance.id,
        name: instance_name(instance),
    }
}

fn instance_name(instance: &Instance) -> String {
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

    fn mig_slices(slices: &[(&str, u8, u8)]) -> Vec<MigSlice> {
        let mig_slice = |&(profile, start, size): &(&str, u8, u8)| MigSlice {
            profile: profile.to_owned(),
            start,
            size,
        };
        slices.iter().map(mig_slice).collect()
    }

    fn instance(id: u32, profile: &str, start: u8) -> Instance {
        Instance {
            id,
            profile: Some(profile.to_owned()),
            start,
            full_compute_instances: 1,
            compute_instances: 1,
        }
    }

    fn state(mode: Option<MigMode>, instances: Vec<Instance>) -> MigState {
        MigState {
            mode,
            instances,
            processes: 0,
        }
    }

    fn step_texts(steps: Result<Vec<MigStep>, PlanError>) -> Vec<String> {
        steps.unwrap().iter().map(MigStep::to_string).collect()
    }

    #[test]
    fn full_gpu_is_partitioned() {
        let steps = plan(
            &state(OFF, vec![]),
            &mig_slices(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]),
        );
        let expected = [
            "enable MIG mode",
            "create 3g.40gb at memory slice 0",
            "create 3g.40gb at memory slice 4",
        ];
        assert_eq!(step_texts(steps), expected);
    }

    #[test]
    fn matching_gpu_in_use_is_unchanged() {
        let mut as_wanted = state(
            ON,
            vec![instance(1, "3g.40gb", 4), instance(2, "3g.40gb", 0)],
        );
        as_wanted.processes = 3;
        let layout = mig_slices(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]);
        assert_eq!(plan(&as_wanted, &layout), Ok(vec![]));
        let other = mig_slices(&[("3g.40gb", 0, 4), ("2g.20gb", 4, 2)]);
        assert_eq!(
            plan(&as_wanted, &other),
            Err(PlanError::InUse { processes: 3 })
        );
        as_wanted.processes = 0;
        let expected = [
            "delete 3g.40gb at memory slice 4",
            "create 2g.20gb at memory slice 4",
        ];
        assert_eq!(step_texts(plan(&as_wanted, &other)), expected);
    }

    #[test]
    fn split_instances_are_recreated() {
        let mut shared = instance(1, "3g.40gb", 0);
        (shared.compute_instances, shared.full_compute_instances) = (3, 0);
        let mut empty = instance(2, "3g.40gb", 4);
        (empty.compute_instances, empty.full_compute_instances) = (0, 0);
        let layout = mig_slices(&[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)]);
        let expected = [
            "delete 3g.40gb at memory slice 0",
            "create the compute instance of 3g.40gb at memory slice 4",
            "create 3g.40gb at memory slice 0",
        ];
        assert_eq!(
            step_texts(plan(&state(ON, vec![shared, empty]), &layout)),
            expected
        );
    }

    #[test]
    fn empty_configuration_disables_mig() {
        let steps = plan(&state(ON, vec![instance(1, "1g.10gb", 0)]), &[]);
        assert_eq!(
            step_texts(steps),
            ["delete 1g.10gb at memory slice 0", "disable MIG mode"]
        );
        assert_eq!(plan(&state(None, vec![]), &[]), Ok(vec![]));
        assert_eq!(plan(&state(OFF, vec![]), &[]), Ok(vec![]));
    }

    #[test]
    fn pending_reset_is_an_error() {
        let turning_on = Some(MigMode {
            enabled: false,
            pending: true,
        });
        let layout = mig_slices(&[("1g.10gb", 0, 1)]);
        assert_eq!(
            plan(&state(turning_on, vec![]), &layout),
            Err(PlanError::ResetPending)
        );
        assert_eq!(
            plan(&state(None, vec![]), &layout),
            Err(PlanError::Unsupported)
        );
    }
}
