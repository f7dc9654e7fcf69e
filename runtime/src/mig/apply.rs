//! Executes a plan, GPU by GPU.

use gpuc_schema::node_config::MigSlice;

use super::plan::{Instance, MigState, MigStep, PlanError, plan};
use crate::nvml::{GpuInstance, MigControl, Nvml, NvmlError, NvmlErrorKind};

/// The result for a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It already had the configured MIG devices.
    Unchanged,
    /// These steps were done, or would be done in a dry run.
    Changed(Vec<MigStep>),
    /// It was not changed.
    Skipped(PlanError),
    /// Some steps were done, the next one failed.
    Failed {
        /// The steps that were done.
        completed: Vec<MigStep>,
        /// The step that failed.
        step: Option<MigStep>,
        /// The error.
        error: NvmlError,
    },
}

/// Creates these MIG devices on one GPU. Before each step, `is_stopped` decides whether to make it.
pub fn apply<D>(
    driver: &D,
    gpu: u32,
    wanted: &[MigSlice],
    dry_run: bool,
    is_stopped: impl Fn() -> bool,
) -> Outcome
where
    D: Nvml + MigControl + ?Sized,
{
    let steps = match read_state(driver, gpu).map(|cut| plan(&cut, wanted)) {
        Ok(Ok(steps)) => steps,
        Ok(Err(plan_error)) => return Outcome::Skipped(plan_error),
        Err(error) => {
            return Outcome::Failed {
                completed: Vec::new(),
                step: None,
                error,
            };
        }
    };
    if steps.is_empty() {
        return Outcome::Unchanged;
    }
    if let Some(error) = find_unknown_profile(driver, gpu, wanted) {
        return Outcome::Skipped(error);
    }
    if dry_run {
        return Outcome::Changed(steps);
    }
    let mut done = Vec::new();
    for step in steps {
        if is_stopped() {
            return Outcome::Failed {
                completed: done,
                step: Some(step),
                error: NvmlError {
                    kind: NvmlErrorKind::TimedOut,
                    message: format!("GPU {gpu}: an earlier call took too long"),
                },
            };
        }
        match execute(driver, gpu, &step) {
            Ok(true) => done.push(step),
            // The mode waits for a reset, which gpuc leaves to the operator: it would end all workloads of the GPU.
            Ok(false) => return Outcome::Skipped(PlanError::ResetPending),
            Err(error) if error.kind == NvmlErrorKind::InUse && done.is_empty() => {
                return Outcome::Skipped(PlanError::InUse { processes: 1 });
            }
            Err(error) => {
                return Outcome::Failed {
                    completed: done,
                    step: Some(step),
                    error,
                };
            }
        }
    }
    Outcome::Changed(done)
}

/// Returns the error for a profile that the GPU does not have, so that nothing is changed before.
fn find_unknown_profile<D>(driver: &D, gpu: u32, wanted: &[MigSlice]) -> Option<PlanError>
where
    D: MigControl + ?Sized,
{
    let profiles = driver.mig_profiles(gpu).unwrap_or_default();
    let names: Vec<_> = profiles.into_iter().map(|profile| profile.name).collect();
    let mut wanted = wanted.iter();
    let unknown = wanted.find(|slice| !names.is_empty() && !names.contains(&slice.profile));
    unknown.map(|slice| PlanError::UnknownProfile {
        profile: slice.profile.clone(),
        available: names,
    })
}

/// Reads the current MIG configuration of a GPU.
fn read_state<D>(driver: &D, gpu: u32) -> Result<MigState, NvmlError>
where
    D: Nvml + MigControl + ?Sized,
{
    let mode = driver.gpu(gpu)?.mig;
    let instances = match mode {
        Some(mode) if mode.enabled => driver.gpu_instances(gpu)?,
        _ => Vec::new(),
    };
    Ok(MigState {
        mode,
        instances: instances.iter().map(to_plan_instance).collect(),
        processes: driver.process_count(gpu)?,
    })
}

fn to_plan_instance(instance: &GpuInstance) -> Instance {
    let takes_all = instance
        .compute
        .iter()
        .filter(|compute_instance| compute_instance.slices == instance.slices);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Instance {
        id: instance.id,
        profile: Some(instance.profile.clone()),
        // A start that no GPU has matches no configured MIG device.
        start: u8::try_from(instance.placement.0).unwrap_or(u8::MAX),
        full_compute_instances: count(takes_all.count()),
        compute_instances: count(instance.compute.len()),
    }
}

/// Executes one step. Returns whether it is complete: a change of the mode may need a reset.
fn execute<D>(driver: &D, gpu: u32, step: &MigStep) -> Result<bool, NvmlError>
where
    D: Nvml + MigControl + ?Sized,
{
    match step {
        MigStep::EnableMig => Ok(driver.set_mig_mode(gpu, true)?.enabled),
        MigStep::DisableMig => Ok(!driver.set_mig_mode(gpu, false)?.enabled),
        MigStep::DeleteInstance { id, .. } => {
            let instances = driver.gpu_instances(gpu)?;
            let found = instances.into_iter().find(|instance| instance.id == *id);
            for compute_instance in found.into_iter().flat_map(|instance| instance.compute) {
                driver.destroy_compute_instance(gpu, *id, compute_instance.id)?;
            }
            driver.destroy_gpu_instance(gpu, *id)?;
            Ok(true)
        }
        MigStep::CreateComputeInstance { id, .. } => {
            create_full_compute_instance(driver, gpu, *id)?;
            Ok(true)
        }
        MigStep::CreateInstance(slice) => {
            let placement = (u32::from(slice.start), u32::from(slice.size));
            let id = driver.create_gpu_instance(gpu, &slice.profile, placement)?;
            create_full_compute_instance(driver, gpu, id)?;
            Ok(true)
        }
    }
}

/// Creates the compute instance that uses all of a GPU instance.
fn create_full_compute_instance<D>(driver: &D, gpu: u32, id: u32) -> Result<(), NvmlError>
where
    D: MigControl + ?Sized,
{
    let instances = driver.gpu_instances(gpu)?;
    let found = instances.iter().find(|instance| instance.id == id);
    let Some(instance) = found else {
        return Err(NvmlError {
            kind: NvmlErrorKind::Other,
            message: format!("GPU instance {id} of GPU {gpu} no longer exists"),
        });
    };
    driver.create_compute_instance(gpu, id, instance.slices)?;
    Ok(())
}
