//! Calls that change MIG instances.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{
    nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlComputeInstancePlacement_t,
    nvmlComputeInstanceProfileInfo_t, nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_v2_t,
    nvmlReturn_enum_NVML_ERROR_IN_USE as IN_USE,
    nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES as INSUFFICIENT,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
    nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED as RESET_REQUIRED,
    nvmlReturn_enum_NVML_SUCCESS as SUCCESS, nvmlReturn_t,
};

use gpuc_schema::gpu::MigProfile;

use crate::answer::{Outcome, answer, answer_device, fill_field, responding_gpu, write_out};
use crate::handle::{
    DeviceHandle, compute_instance, compute_instance_from, gpu_instance, gpu_instance_from,
};
use crate::layout::{Instance, can_place, free_id, instances, mig_mode, profiles, store_layout};
use crate::state::Gpu;

/// The compute slices of the profiles of compute instances, by index (nvml.h, `NVML_COMPUTE_INSTANCE_PROFILE_…`).
const COMPUTE_SLICES: [u32; 7] = [1, 2, 3, 4, 7, 8, 6];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceSetMigMode(
    device: nvmlDevice_t,
    mode: c_uint,
    activation: *mut nvmlReturn_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceSetMigMode", device, |gpu, _| {
        let (on, _) = mig_mode(gpu).ok_or(NOT_SUPPORTED)?;
        let word = if mode == 0 { "off" } else { "on" };
        let needs_reset = gpu.number("mig_needs_reset") == Some(1);
        let changes = on != (mode != 0);
        if changes && !needs_reset {
            check_idle(gpu)?;
            if !instances(gpu).is_empty() {
                return Err(IN_USE);
            }
            gpu.change("mig", word);
        }
        gpu.change("mig_pending", word);
        let active = if changes && needs_reset {
            RESET_REQUIRED
        } else {
            SUCCESS
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(activation, active) }
    })
}

/// Fails while processes use the GPU.
fn check_idle(gpu: Gpu<'_>) -> Outcome {
    match gpu.number("processes") {
        Some(1..) => Err(IN_USE),
        _ => Ok(()),
    }
}

/// Fails unless the GPU is in MIG mode.
fn check_mig_mode(gpu: Gpu<'_>) -> Outcome {
    match mig_mode(gpu) {
        Some((true, _)) => Ok(()),
        _ => Err(NOT_SUPPORTED),
    }
}

fn profile_by_id(gpu: Gpu<'_>, id: u32) -> Result<&'static MigProfile, nvmlReturn_t> {
    let found = profiles(gpu).iter().find(|profile| profile.smi_id == id);
    found.ok_or(INVALID)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceProfileInfoV(
    device: nvmlDevice_t,
    index: c_uint,
    info: *mut nvmlGpuInstanceProfileInfo_v2_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetGpuInstanceProfileInfoV", device, |gpu, _| {
        // A GPU that supports MIG has profiles in both modes (nvml.h of driver 580).
        let mut known = profiles(gpu).iter();
        let profile = known
            .find(|it| it.nvml_profile == index)
            .ok_or(NOT_SUPPORTED)?;
        // SAFETY: nvml.h requires a structure with its version.
        let mut answer = unsafe { info.as_ref() }.copied().ok_or(INVALID)?;
        answer.id = profile.smi_id;
        answer.sliceCount = profile.compute_slices.into();
        answer.instanceCount = profile.max_instances;
        answer.memorySizeMB = profile.memory_mib.into();
        fill_field(&mut answer.name, &format!("MIG {}", profile.name));
        // SAFETY: as above.
        unsafe { write_out(info, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstances(
    device: nvmlDevice_t,
    profile: c_uint,
    handles: *mut nvmlGpuInstance_t,
    count: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetGpuInstances", device, |gpu, _| {
        check_mig_mode(gpu)?;
        profile_by_id(gpu, profile)?;
        let instances = instances(gpu);
        let matching = instances.iter().filter(|it| it.profile.smi_id == profile);
        let mut written = 0;
        for instance in matching {
            let handle = gpu_instance(gpu.index, instance.id);
            // SAFETY: nvml.h requires an array for the maximum number of instances of the profile.
            unsafe { write_out(handles.wrapping_add(written), handle) }?;
            written += 1;
        }
        // SAFETY: nvml.h requires a pointer for the count.
        unsafe { write_out(count, u32::try_from(written).map_err(|_| INVALID)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceById(
    device: nvmlDevice_t,
    id: c_uint,
    handle: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetGpuInstanceById", device, |gpu, _| {
        let known = instances(gpu).iter().any(|it| it.id == id);
        if !known {
            return Err(NOT_FOUND);
        }
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(handle, gpu_instance(gpu.index, id)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceCreateGpuInstanceWithPlacement(
    device: nvmlDevice_t,
    profile: c_uint,
    place: *const nvmlGpuInstancePlacement_t,
    handle: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t {
    answer_device(
        "nvmlDeviceCreateGpuInstanceWithPlacement",
        device,
        |gpu, _| {
            check_mig_mode(gpu)?;
            let profile = profile_by_id(gpu, profile)?;
            // SAFETY: nvml.h requires a placement.
            let place = *unsafe { place.as_ref() }.ok_or(INVALID)?;
            if place.size != u32::from(profile.memory_slices) {
                return Err(INVALID);
            }
            let mut all = instances(gpu);
            let new = Instance {
                id: free_id(&all, profile),
                profile,
                start: place.start,
                compute: Vec::new(),
            };
            if !can_place(gpu, &all, &new) {
                return Err(INSUFFICIENT);
            }
            let id = new.id;
            all.push(new);
            store_layout(gpu, &all);
            // SAFETY: nvml.h requires a pointer for the result.
            unsafe { write_out(handle, gpu_instance(gpu.index, id)) }
        },
    )
}

/// Handles a call about a GPU instance.
fn answer_instance(
    name: &str,
    handle: nvmlGpuInstance_t,
    handler: impl FnOnce(Gpu<'_>, Vec<Instance>, usize) -> Outcome,
) -> nvmlReturn_t {
    answer(name, |state| {
        let (gpu, id) = gpu_instance_from(handle).ok_or(INVALID)?;
        let gpu = responding_gpu(state, gpu, name)?;
        let all = instances(gpu);
        let place = all.iter().position(|it| it.id == id).ok_or(NOT_FOUND)?;
        handler(gpu, all, place)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceGetInfo(
    handle: nvmlGpuInstance_t,
    info: *mut nvmlGpuInstanceInfo_t,
) -> nvmlReturn_t {
    answer_instance("nvmlGpuInstanceGetInfo", handle, |gpu, all, place| {
        let instance = &all[place];
        let answer = nvmlGpuInstanceInfo_t {
            device: DeviceHandle::FullGpu(gpu.index).handle(),
            id: instance.id,
            profileId: instance.profile.smi_id,
            placement: nvmlGpuInstancePlacement_t {
                start: instance.start,
                size: instance.profile.memory_slices.into(),
            },
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(info, answer) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpuInstanceDestroy(handle: nvmlGpuInstance_t) -> nvmlReturn_t {
    answer_instance("nvmlGpuInstanceDestroy", handle, |gpu, mut all, place| {
        check_idle(gpu)?;
        if !all[place].compute.is_empty() {
            return Err(IN_USE);
        }
        all.remove(place);
        store_layout(gpu, &all);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceGetComputeInstanceProfileInfo(
    handle: nvmlGpuInstance_t,
    index: c_uint,
    _engines: c_uint,
    info: *mut nvmlComputeInstanceProfileInfo_t,
) -> nvmlReturn_t {
    let name = "nvmlGpuInstanceGetComputeInstanceProfileInfo";
    answer_instance(name, handle, |_, all, place| {
        let all_slices = all[place].slices();
        let slices = COMPUTE_SLICES.get(index as usize).ok_or(INVALID)?;
        if *slices > all_slices {
            return Err(NOT_SUPPORTED);
        }
        let answer = nvmlComputeInstanceProfileInfo_t {
            id: index,
            sliceCount: *slices,
            instanceCount: all_slices / slices,
            multiprocessorCount: slices * 16,
            sharedCopyEngineCount: all_slices,
            sharedDecoderCount: all_slices,
            sharedEncoderCount: 0,
            sharedJpegCount: all_slices,
            sharedOfaCount: 0,
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(info, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceGetComputeInstances(
    handle: nvmlGpuInstance_t,
    profile: c_uint,
    handles: *mut nvmlComputeInstance_t,
    count: *mut c_uint,
) -> nvmlReturn_t {
    let name = "nvmlGpuInstanceGetComputeInstances";
    answer_instance(name, handle, |gpu, all, place| {
        let expected = *COMPUTE_SLICES.get(profile as usize).ok_or(INVALID)?;
        let instance = &all[place];
        let mut written = 0;
        for (ci, _) in instance
            .compute
            .iter()
            .filter(|(_, slices)| *slices == expected)
        {
            let handle = compute_instance(gpu.index, instance.id, *ci);
            // SAFETY: nvml.h requires an array for the maximum number of instances of the profile.
            unsafe { write_out(handles.wrapping_add(written), handle) }?;
            written += 1;
        }
        // SAFETY: nvml.h requires a pointer for the count.
        unsafe { write_out(count, u32::try_from(written).map_err(|_| INVALID)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceGetComputeInstanceById(
    handle: nvmlGpuInstance_t,
    id: c_uint,
    compute: *mut nvmlComputeInstance_t,
) -> nvmlReturn_t {
    let name = "nvmlGpuInstanceGetComputeInstanceById";
    answer_instance(name, handle, |gpu, all, place| {
        let instance = &all[place];
        let known = instance.compute.iter().any(|(ci, _)| *ci == id);
        if !known {
            return Err(NOT_FOUND);
        }
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(compute, compute_instance(gpu.index, instance.id, id)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceCreateComputeInstance(
    handle: nvmlGpuInstance_t,
    profile: c_uint,
    compute: *mut nvmlComputeInstance_t,
) -> nvmlReturn_t {
    let name = "nvmlGpuInstanceCreateComputeInstance";
    answer_instance(name, handle, |gpu, mut all, place| {
        let slices = *COMPUTE_SLICES.get(profile as usize).ok_or(INVALID)?;
        let instance = &mut all[place];
        let used: u32 = instance.compute.iter().map(|(_, slices)| slices).sum();
        if used + slices > instance.slices() {
            return Err(INSUFFICIENT);
        }
        let taken = |id: &u32| instance.compute.iter().any(|(ci, _)| ci == id);
        let id = (0..=7).find(|id| !taken(id)).ok_or(INSUFFICIENT)?;
        instance.compute.push((id, slices));
        let answer = compute_instance(gpu.index, instance.id, id);
        store_layout(gpu, &all);
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(compute, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlComputeInstanceGetInfo_v2(
    handle: nvmlComputeInstance_t,
    info: *mut nvmlComputeInstanceInfo_t,
) -> nvmlReturn_t {
    answer("nvmlComputeInstanceGetInfo_v2", |_| {
        let (gpu, gi, ci) = compute_instance_from(handle).ok_or(INVALID)?;
        let answer = nvmlComputeInstanceInfo_t {
            device: DeviceHandle::FullGpu(gpu).handle(),
            gpuInstance: gpu_instance(gpu, gi),
            id: ci,
            profileId: 0,
            placement: nvmlComputeInstancePlacement_t { start: 0, size: 0 },
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(info, answer) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlComputeInstanceDestroy(handle: nvmlComputeInstance_t) -> nvmlReturn_t {
    let name = "nvmlComputeInstanceDestroy";
    answer(name, |state| {
        let (gpu, gi, ci) = compute_instance_from(handle).ok_or(INVALID)?;
        let gpu = responding_gpu(state, gpu, name)?;
        check_idle(gpu)?;
        let mut all = instances(gpu);
        let instance = all.iter_mut().find(|it| it.id == gi).ok_or(NOT_FOUND)?;
        instance.compute.retain(|(id, _)| *id != ci);
        store_layout(gpu, &all);
        Ok(())
    })
}
