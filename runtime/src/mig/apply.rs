//! Carries a plan out, GPU by GPU.

use gpuc_schema::node_config::MigSlice;

use super::plan::{Cut, Instance, Refusal, Step, plan};
use crate::nvml::{GpuInstance, MigControl, Nvml, NvmlError, NvmlErrorKind};

/// What became of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was cut as wanted.
    AsWanted,
    /// These were done; with a dry run they would be.
    Done(Vec<Step>),
    /// It was left as it is.
    Left(Refusal),
    /// Some were done, the next one failed.
    Failed {
        /// What was done.
        done: Vec<Step>,
        /// What was not.
        step: Option<Step>,
        /// Why.
        error: NvmlError,
    },
}

/// Brings one GPU to these slices.
pub fn apply<D>(driver: &D, gpu: u32, wanted: &[MigSlice], dry_run: bool) -> Outcome
where
    D: Nvml + MigControl + ?Sized,
{
    let steps = match look(driver, gpu).map(|cut| plan(&cut, wanted)) {
        Ok(Ok(steps)) => steps,
        Ok(Err(refusal)) => return Outcome::Left(refusal),
        Err(error) => {
            return Outcome::Failed {
                done: Vec::new(),
                step: None,
                error,
            };
        }
    };
    if steps.is_empty() {
        return Outcome::AsWanted;
    }
    if dry_run {
        return Outcome::Done(steps);
    }
    let mut done = Vec::new();
    for step in steps {
        match carry_out(driver, gpu, &step) {
            Ok(true) => done.push(step),
            // The mode waits for a reset, which the daemon leaves to people: it would end everybody's work.
            Ok(false) => return Outcome::Left(Refusal::ResetPending),
            Err(error) if error.kind == NvmlErrorKind::InUse && done.is_empty() => {
                return Outcome::Left(Refusal::InUse { processes: 1 });
            }
            Err(error) => {
                return Outcome::Failed {
                    done,
                    step: Some(step),
                    error,
                };
            }
        }
    }
    Outcome::Done(done)
}

/// How a GPU is cut now.
fn look<D>(driver: &D, gpu: u32) -> Result<Cut, NvmlError>
where
    D: Nvml + MigControl + ?Sized,
{
    let mode = driver.gpu(gpu)?.mig;
    let instances = match mode {
        Some(mode) if mode.enabled => driver.gpu_instances(gpu)?,
        _ => Vec::new(),
    };
    Ok(Cut {
        mode,
        instances: instances.iter().map(instance).collect(),
        processes: driver.process_count(gpu)?,
    })
}

fn instance(instance: &GpuInstance) -> Instance {
    let takes_all = instance
        .compute
        .iter()
        .filter(|part| part.slices == instance.slices);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Instance {
        id: instance.id,
        profile: Some(instance.profile.clone()),
        // A start that no card has matches nothing that is wanted.
        start: u8::try_from(instance.place.0).unwrap_or(u8::MAX),
        whole_compute_instances: count(takes_all.count()),
        compute_instances: count(instance.compute.len()),
    }
}

/// Does one thing. Whether it is done: a change of mode may have to wait for a reset.
fn carry_out<D>(driver: &D, gpu: u32, step: &Step) -> Result<bool, NvmlError>
where
    D: Nvml + MigControl + ?Sized,
{
    match step {
        Step::TurnOn => Ok(driver.set_mig_mode(gpu, true)?.enabled),
        Step::TurnOff => Ok(!driver.set_mig_mode(gpu, false)?.enabled),
        Step::Remove { id, .. } => {
            let instances = driver.gpu_instances(gpu)?;
            let found = instances.into_iter().find(|instance| instance.id == *id);
            for part in found.into_iter().flat_map(|instance| instance.compute) {
                driver.destroy_compute_instance(gpu, *id, part.id)?;
            }
            driver.destroy_gpu_instance(gpu, *id)?;
            Ok(true)
        }
        Step::Complete { id, .. } => {
            complete(driver, gpu, *id)?;
            Ok(true)
        }
        Step::Make(slice) => {
            let place = (u32::from(slice.start), u32::from(slice.size));
            let id = driver.create_gpu_instance(gpu, &slice.profile, place)?;
            complete(driver, gpu, id)?;
            Ok(true)
        }
    }
}

/// Makes the compute instance that takes all of a GPU instance.
fn complete<D>(driver: &D, gpu: u32, id: u32) -> Result<(), NvmlError>
where
    D: MigControl + ?Sized,
{
    let instances = driver.gpu_instances(gpu)?;
    let found = instances.iter().find(|instance| instance.id == id);
    let Some(instance) = found else {
        return Err(NvmlError {
            kind: NvmlErrorKind::Other,
            message: format!("GPU instance {id} of GPU {gpu} is gone again"),
        });
    };
    driver.create_compute_instance(gpu, id, instance.slices)?;
    Ok(())
}
