//! MIG devices: creation and deletion.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper_sys::bindings::{
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT, NVML_GPU_INSTANCE_PROFILE_COUNT,
};

use super::error::{error_kind, none_if_unsupported};
use super::mig_devices::{parse_profile, profile_name};
use super::raw_mig::{self, GpuInstanceHandle};
use super::{Real, gpu};
use crate::nvml::{
    ComputeInstance, GpuInstance, MigControl, MigMode, MigProfile, NvmlError, NvmlErrorKind,
};

impl MigControl for Real {
    fn set_mig_mode(&self, gpu: u32, on: bool) -> Result<MigMode, NvmlError> {
        self.query(gpu, |device| {
            device.set_mig_mode(on)?;
            gpu::mig_mode(device)?.ok_or(WrapperError::NotSupported)
        })
    }

    fn mig_profiles(&self, gpu: u32) -> Result<Vec<MigProfile>, NvmlError> {
        self.query(gpu, profiles)
    }

    fn gpu_instances(&self, gpu: u32) -> Result<Vec<GpuInstance>, NvmlError> {
        self.query(gpu, |device| {
            let mut found = Vec::new();
            for profile in profiles(device)? {
                let instances =
                    GpuInstanceHandle::list_for_profile(device, profile.id, profile.max_instances);
                // A GPU that is not in MIG mode has none.
                for instance in none_if_unsupported(instances)?.unwrap_or_default() {
                    let info = instance.info()?;
                    found.push(GpuInstance {
                        id: info.id,
                        profile: profile.name.clone(),
                        slices: profile.slices,
                        placement: info.placement,
                        compute: compute_instances(&instance)?,
                    });
                }
            }
            found.sort_by_key(|instance| instance.placement);
            Ok(found)
        })
    }

    fn create_gpu_instance(
        &self,
        gpu: u32,
        profile: &str,
        placement: (u32, u32),
    ) -> Result<u32, NvmlError> {
        let profiles = self.mig_profiles(gpu)?;
        let Some(found) = profiles.iter().find(|known| known.name == profile) else {
            let names: Vec<_> = profiles.iter().map(|known| known.name.as_str()).collect();
            return Err(NvmlError {
                kind: NvmlErrorKind::NotSupported,
                message: format!(
                    "GPU {gpu} has no MIG profile `{profile}`; available: {}",
                    names.join(", ")
                ),
            });
        };
        self.query(gpu, |device| {
            let instance = GpuInstanceHandle::create(device, found.id, placement)?;
            Ok(instance.info()?.id)
        })
    }

    fn create_compute_instance(&self, gpu: u32, gi: u32, slices: u32) -> Result<u32, NvmlError> {
        self.query(gpu, |device| {
            let instance = GpuInstanceHandle::find(device, gi)?;
            let profiles = compute_profiles(&instance)?;
            let fitting = profiles.iter().find(|profile| profile.slices == slices);
            let profile = fitting.ok_or(WrapperError::NotSupported)?;
            instance.create_compute(profile.id)?.id()
        })
    }

    fn destroy_compute_instance(&self, gpu: u32, gi: u32, ci: u32) -> Result<(), NvmlError> {
        self.query(gpu, |device| {
            let instance = GpuInstanceHandle::find(device, gi)?;
            instance.compute_instance(ci)?.destroy()
        })
    }

    fn destroy_gpu_instance(&self, gpu: u32, gi: u32) -> Result<(), NvmlError> {
        self.query(gpu, |device| GpuInstanceHandle::find(device, gi)?.destroy())
    }

    fn process_count(&self, gpu: u32) -> Result<u32, NvmlError> {
        self.query(gpu, |device| {
            let through_mps = device.mps_running_compute_processes();
            let through_mps = through_mps.map(|list| u32::try_from(list.len()).unwrap_or(u32::MAX));
            let counts = [
                device.running_compute_processes_count(),
                device.running_graphics_processes_count(),
                through_mps,
            ];
            counts.into_iter().try_fold(0_u32, |sum, count| {
                Ok(none_if_unsupported(count)?.map_or(sum, |count| count.saturating_add(sum)))
            })
        })
    }
}

/// Returns the profiles of a GPU.
fn profiles(device: &Device<'_>) -> Result<Vec<MigProfile>, WrapperError> {
    let memory_bytes = none_if_unsupported(device.memory_info())?.map(|memory| memory.total);
    let mut found: Vec<MigProfile> = Vec::new();
    for index in 0..NVML_GPU_INSTANCE_PROFILE_COUNT {
        let Some(profile) = none_if_not_offered(raw_mig::profile(device, index))? else {
            continue;
        };
        let name = profile.name.as_deref().and_then(parse_profile);
        let computed = || {
            profile_name(
                profile.slices,
                profile.slices,
                profile.memory_mib,
                memory_bytes,
            )
        };
        found.push(MigProfile {
            name: name.unwrap_or_else(computed),
            id: profile.id,
            slices: profile.slices,
            memory_mib: profile.memory_mib,
            max_instances: profile.max_instances,
        });
    }
    Ok(found)
}

/// A compute instance profile in a GPU instance.
struct ComputeProfile {
    id: u32,
    slices: u32,
    max: u32,
}

fn compute_profiles(instance: &GpuInstanceHandle<'_>) -> Result<Vec<ComputeProfile>, WrapperError> {
    let mut found = Vec::new();
    for index in 0..NVML_COMPUTE_INSTANCE_PROFILE_COUNT {
        if let Some((id, slices, max)) = none_if_not_offered(instance.compute_profile(index))? {
            found.push(ComputeProfile { id, slices, max });
        }
    }
    Ok(found)
}

fn compute_instances(
    instance: &GpuInstanceHandle<'_>,
) -> Result<Vec<ComputeInstance>, WrapperError> {
    let mut found = Vec::new();
    for profile in compute_profiles(instance)? {
        for compute in instance.compute_instances_for_profile(profile.id, profile.max)? {
            found.push(ComputeInstance {
                id: compute.id()?,
                slices: profile.slices,
            });
        }
    }
    found.sort_by_key(|compute| compute.id);
    Ok(found)
}

/// Returns the profile, or `None` if the GPU model does not have the one with this index.
fn none_if_not_offered<T>(result: Result<T, WrapperError>) -> Result<Option<T>, WrapperError> {
    match result {
        Err(WrapperError::InvalidArg | WrapperError::NotFound) => Ok(None),
        Err(error) if error_kind(&error) == NvmlErrorKind::NotSupported => Ok(None),
        other => other.map(Some),
    }
}
