//! NVML's calls for MIG instances, none of which nvml-wrapper 0.13 has.

#![expect(
    unsafe_code,
    reason = "NVML is a C library; only this module and `raw` make the calls that nvml-wrapper lacks"
)]

use std::ptr;

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError as WrapperError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlComputeInstancePlacement_t,
    nvmlComputeInstanceProfileInfo_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_t, nvmlGpuInstanceProfileInfo_v2_t,
};

use super::raw::{c_string, versioned};

type NvmlResult<T> = Result<T, WrapperError>;

/// A GPU instance profile, by the index of NVML's queries.
pub(super) struct RawProfile {
    pub(super) id: u32,
    pub(super) slices: u32,
    pub(super) max_instances: u32,
    pub(super) memory_mib: u64,
    /// `MIG 1g.10gb`; `None` if the driver is too old to report it.
    pub(super) name: Option<String>,
}

/// Returns the profile with this index. NVML reports missing profiles as not supported or invalid.
pub(super) fn profile(device: &Device<'_>, index: u32) -> NvmlResult<RawProfile> {
    let lib = device.nvml().lib();
    if let Ok(call) = &lib.nvmlDeviceGetGpuInstanceProfileInfoV {
        let mut info = nvmlGpuInstanceProfileInfo_v2_t {
            version: versioned::<nvmlGpuInstanceProfileInfo_v2_t>(2),
            id: 0,
            isP2pSupported: 0,
            sliceCount: 0,
            instanceCount: 0,
            multiprocessorCount: 0,
            copyEngineCount: 0,
            decoderCount: 0,
            encoderCount: 0,
            jpegCount: 0,
            ofaCount: 0,
            memorySizeMB: 0,
            name: [0; 96],
        };
        // SAFETY: the handle is valid while `device` borrows the library; `info` is as large as its version says.
        nvml_try(unsafe { call(device.handle(), index, &raw mut info) })?;
        return Ok(RawProfile {
            id: info.id,
            slices: info.sliceCount,
            max_instances: info.instanceCount,
            memory_mib: info.memorySizeMB,
            name: Some(c_string(&info.name)),
        });
    }
    let call = nvml_sym(lib.nvmlDeviceGetGpuInstanceProfileInfo.as_ref())?;
    let mut info = nvmlGpuInstanceProfileInfo_t {
        id: 0,
        isP2pSupported: 0,
        sliceCount: 0,
        instanceCount: 0,
        multiprocessorCount: 0,
        copyEngineCount: 0,
        decoderCount: 0,
        encoderCount: 0,
        jpegCount: 0,
        ofaCount: 0,
        memorySizeMB: 0,
    };
    // SAFETY: the handle is valid while `device` borrows the library, and `info` outlives the call.
    nvml_try(unsafe { call(device.handle(), index, &raw mut info) })?;
    Ok(RawProfile {
        id: info.id,
        slices: info.sliceCount,
        max_instances: info.instanceCount,
        memory_mib: info.memorySizeMB,
        name: None,
    })
}

/// A GPU instance, valid until it is destroyed or the library is unloaded.
pub(super) struct GpuInstanceHandle<'n> {
    lib: &'n NvmlLib,
    handle: nvmlGpuInstance_t,
}

/// The properties of an instance.
#[derive(Clone, Copy)]
pub(super) struct InstanceInfo {
    pub(super) id: u32,
    pub(super) placement: (u32, u32),
}

impl<'n> GpuInstanceHandle<'n> {
    /// Returns the instance with this ID.
    pub(super) fn find(device: &Device<'n>, id: u32) -> NvmlResult<Self> {
        let lib = device.nvml().lib();
        let call = nvml_sym(lib.nvmlDeviceGetGpuInstanceById.as_ref())?;
        let mut handle = ptr::null_mut();
        // SAFETY: the device's handle is valid while it borrows the library, and `handle` outlives the call.
        nvml_try(unsafe { call(device.handle(), id, &raw mut handle) })?;
        Ok(Self { lib, handle })
    }

    /// Returns the instances of this profile, at most `most`.
    pub(super) fn list_for_profile(
        device: &Device<'n>,
        id: u32,
        max: u32,
    ) -> NvmlResult<Vec<Self>> {
        let lib = device.nvml().lib();
        let call = nvml_sym(lib.nvmlDeviceGetGpuInstances.as_ref())?;
        let mut handles = vec![ptr::null_mut(); max as usize];
        let mut count = max;
        // SAFETY: NVML writes `instanceCount` handles of the profile at most, which is what `handles` has room for.
        nvml_try(unsafe { call(device.handle(), id, handles.as_mut_ptr(), &raw mut count) })?;
        handles.truncate(count as usize);
        let instance = |handle| Self { lib, handle };
        Ok(handles.into_iter().map(instance).collect())
    }

    /// Creates an instance of this profile at this placement.
    pub(super) fn create(
        device: &Device<'n>,
        profile: u32,
        placement: (u32, u32),
    ) -> NvmlResult<Self> {
        let lib = device.nvml().lib();
        let create = nvml_sym(lib.nvmlDeviceCreateGpuInstanceWithPlacement.as_ref())?;
        let (start, size) = placement;
        let placement = nvmlGpuInstancePlacement_t { start, size };
        let mut handle = ptr::null_mut();
        // SAFETY: the device's handle is valid while it borrows the library; `placement` and `handle` outlive the call.
        nvml_try(unsafe {
            create(
                device.handle(),
                profile,
                &raw const placement,
                &raw mut handle,
            )
        })?;
        Ok(Self { lib, handle })
    }

    pub(super) fn info(&self) -> NvmlResult<InstanceInfo> {
        let call = nvml_sym(self.lib.nvmlGpuInstanceGetInfo.as_ref())?;
        let mut info = nvmlGpuInstanceInfo_t {
            device: ptr::null_mut(),
            id: 0,
            profileId: 0,
            placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
        };
        // SAFETY: the handle came from this library, which is loaded as long as it is borrowed.
        nvml_try(unsafe { call(self.handle, &raw mut info) })?;
        Ok(InstanceInfo {
            id: info.id,
            placement: (info.placement.start, info.placement.size),
        })
    }

    pub(super) fn destroy(self) -> NvmlResult<()> {
        let destroy = nvml_sym(self.lib.nvmlGpuInstanceDestroy.as_ref())?;
        // SAFETY: the handle came from this library, and `self` is consumed.
        nvml_try(unsafe { destroy(self.handle) })
    }

    /// Returns a compute instance profile, by the index of NVML's queries: its ID, its compute slices, and the maximum
    /// number of instances.
    pub(super) fn compute_profile(&self, index: u32) -> NvmlResult<(u32, u32, u32)> {
        let call = nvml_sym(
            self.lib
                .nvmlGpuInstanceGetComputeInstanceProfileInfo
                .as_ref(),
        )?;
        let mut info = nvmlComputeInstanceProfileInfo_t {
            id: 0,
            sliceCount: 0,
            instanceCount: 0,
            multiprocessorCount: 0,
            sharedCopyEngineCount: 0,
            sharedDecoderCount: 0,
            sharedEncoderCount: 0,
            sharedJpegCount: 0,
            sharedOfaCount: 0,
        };
        // SAFETY: the handle came from this library, and `info` outlives the call. Engines are shared (profile 0),
        // which is the only way that nvml.h 13 knows.
        nvml_try(unsafe { call(self.handle, index, 0, &raw mut info) })?;
        Ok((info.id, info.sliceCount, info.instanceCount))
    }

    /// Returns the compute instance with this ID.
    pub(super) fn compute_instance(&self, id: u32) -> NvmlResult<ComputeInstanceHandle<'n>> {
        let call = nvml_sym(self.lib.nvmlGpuInstanceGetComputeInstanceById.as_ref())?;
        let mut handle = ptr::null_mut();
        // SAFETY: the instance's handle came from this library, and `handle` outlives the call.
        nvml_try(unsafe { call(self.handle, id, &raw mut handle) })?;
        Ok(ComputeInstanceHandle {
            lib: self.lib,
            handle,
        })
    }

    /// Returns the compute instances of this profile, at most `most`.
    pub(super) fn compute_instances_for_profile(
        &self,
        id: u32,
        max: u32,
    ) -> NvmlResult<Vec<ComputeInstanceHandle<'n>>> {
        let call = nvml_sym(self.lib.nvmlGpuInstanceGetComputeInstances.as_ref())?;
        let mut handles = vec![ptr::null_mut(); max as usize];
        let mut count = max;
        // SAFETY: NVML writes `instanceCount` handles of the profile at most, which is what `handles` has room for.
        nvml_try(unsafe { call(self.handle, id, handles.as_mut_ptr(), &raw mut count) })?;
        handles.truncate(count as usize);
        let lib = self.lib;
        let compute = |handle| ComputeInstanceHandle { lib, handle };
        Ok(handles.into_iter().map(compute).collect())
    }

    /// Creates a compute instance of this profile.
    pub(super) fn create_compute(&self, profile: u32) -> NvmlResult<ComputeInstanceHandle<'n>> {
        let create = nvml_sym(self.lib.nvmlGpuInstanceCreateComputeInstance.as_ref())?;
        let mut handle = ptr::null_mut();
        // SAFETY: the instance's handle came from this library, and `handle` outlives the call.
        nvml_try(unsafe { create(self.handle, profile, &raw mut handle) })?;
        Ok(ComputeInstanceHandle {
            lib: self.lib,
            handle,
        })
    }
}

/// A compute instance, valid until it is destroyed or the library is unloaded.
pub(super) struct ComputeInstanceHandle<'n> {
    lib: &'n NvmlLib,
    handle: nvmlComputeInstance_t,
}

impl ComputeInstanceHandle<'_> {
    /// Its number.
    pub(super) fn id(&self) -> NvmlResult<u32> {
        let call = nvml_sym(self.lib.nvmlComputeInstanceGetInfo_v2.as_ref())?;
        let mut info = nvmlComputeInstanceInfo_t {
            device: ptr::null_mut(),
            gpuInstance: ptr::null_mut(),
            id: 0,
            profileId: 0,
            placement: nvmlComputeInstancePlacement_t { start: 0, size: 0 },
        };
        // SAFETY: the handle came from this library, and `info` outlives the call.
        nvml_try(unsafe { call(self.handle, &raw mut info) })?;
        Ok(info.id)
    }

    pub(super) fn destroy(self) -> NvmlResult<()> {
        let destroy = nvml_sym(self.lib.nvmlComputeInstanceDestroy.as_ref())?;
        // SAFETY: the handle came from this library, and `self` is consumed.
        nvml_try(unsafe { destroy(self.handle) })
    }
}
