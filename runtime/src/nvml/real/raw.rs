//! The NVML calls that nvml-wrapper 0.13 does not have, or implements incorrectly.
//!
//! It drops the instance of an event and unknown event types, always returns `Unknown` for the remote end of an
//! NVLink, and has no call for MIG instances, remapped rows and the NVLink fabric.

#![expect(
    unsafe_code,
    reason = "NVML is a C library; only this module and `raw_mig` make the calls that nvml-wrapper lacks"
)]

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use nvml_wrapper::error::{NvmlError as WrapperError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    NVML_GPU_FABRIC_STATE_COMPLETED, nvmlEventData_t, nvmlEventSet_t, nvmlGpuFabricInfo_v2_t,
    nvmlGpuFabricInfo_v3_t, nvmlReturn_enum_NVML_ERROR_TIMEOUT,
};

type NvmlResult<T> = Result<T, WrapperError>;

/// Returns the version field of an NVML structure: its size, and the version in the highest byte.
pub(super) fn versioned<T>(version: u32) -> u32 {
    let size = u32::try_from(size_of::<T>()).expect("no structure of NVML's is that large");
    size | (version << 24)
}

/// Converts an NVML string, which ends with a zero or fills its buffer.
pub(super) fn c_string(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes
        .iter()
        .map(|byte| byte.to_ne_bytes()[0])
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the handle of a GPU as a comparable value: it stays the same while the library is loaded.
pub(super) fn identity(device: &Device<'_>) -> usize {
    // SAFETY: only the value of the handle is used.
    unsafe { device.handle() }.addr()
}

/// Returns the ID of the GPU instance of a MIG device.
pub(super) fn gpu_instance_id(device: &Device<'_>) -> NvmlResult<u32> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: the handle is valid while `device` borrows the library, and `id` outlives the call.
    nvml_try(unsafe { call(device.handle(), &raw mut id) })?;
    Ok(id)
}

/// Returns the ID of the compute instance of a MIG device.
pub(super) fn compute_instance_id(device: &Device<'_>) -> NvmlResult<u32> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetComputeInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: the handle is valid while `device` borrows the library, and `id` outlives the call.
    nvml_try(unsafe { call(device.handle(), &raw mut id) })?;
    Ok(id)
}

/// Remapped memory rows.
#[derive(Clone, Copy)]
pub(super) struct RemappedRows {
    pub(super) correctable: u32,
    pub(super) uncorrectable: u32,
    pub(super) failed: bool,
}

/// Returns the remapped memory rows.
pub(super) fn remapped_rows(device: &Device<'_>) -> NvmlResult<RemappedRows> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetRemappedRows.as_ref())?;
    let (mut correctable, mut uncorrectable, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: the handle is valid while `device` borrows the library, and the variables outlive the call.
    nvml_try(unsafe {
        call(
            device.handle(),
            &raw mut correctable,
            &raw mut uncorrectable,
            &raw mut pending,
            &raw mut failed,
        )
    })?;
    Ok(RemappedRows {
        correctable,
        uncorrectable,
        failed: failed != 0,
    })
}

/// Returns the NVLink fabric of a GPU: the cluster's UUID in bytes, and the clique. `None` until it has joined one.
pub(super) fn fabric(device: &Device<'_>) -> NvmlResult<Option<([u8; 16], u32)>> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuFabricInfoV.as_ref())?;
    // The second version is requested, which more drivers support; it is a prefix of the third.
    let mut info = nvmlGpuFabricInfo_v3_t {
        version: versioned::<nvmlGpuFabricInfo_v2_t>(2),
        clusterUuid: [0; 16],
        status: 0,
        cliqueId: 0,
        state: 0,
        healthMask: 0,
        healthSummary: 0,
    };
    // SAFETY: the handle is valid while `device` borrows the library; `info` is at least as large as its version says.
    nvml_try(unsafe { call(device.handle(), &raw mut info) })?;
    let has_joined = u32::from(info.state) == NVML_GPU_FABRIC_STATE_COMPLETED && info.status == 0;
    Ok(has_joined.then_some((info.clusterUuid, info.cliqueId)))
}

/// Returns the type of device at the remote end of an NVLink, by nvml.h's `nvmlIntNvLinkDeviceType_t`.
pub(super) fn remote_device_type(device: &Device<'_>, link: u32) -> NvmlResult<u32> {
    let lib = device.nvml().lib();
    let call = nvml_sym(lib.nvmlDeviceGetNvLinkRemoteDeviceType.as_ref())?;
    let mut kind = 0;
    // SAFETY: the handle is valid while `device` borrows the library, and `kind` outlives the call.
    nvml_try(unsafe { call(device.handle(), link, &raw mut kind) })?;
    Ok(kind)
}

/// An event set, freed on drop.
pub(super) struct EventSet {
    nvml: Arc<Nvml>,
    set: nvmlEventSet_t,
}

// SAFETY: NVML is thread-safe (its documentation says so for every call), and the set has one owner, so that no two
// threads wait on it at once.
unsafe impl Send for EventSet {}

/// An NVML event.
pub(super) struct RawEvent {
    /// The [`identity`] of the GPU.
    pub(super) gpu: usize,
    pub(super) kind: u64,
    pub(super) data: u64,
    pub(super) gi: u32,
    pub(super) ci: u32,
}

impl EventSet {
    pub(super) fn new(nvml: Arc<Nvml>) -> NvmlResult<Self> {
        let create = nvml_sym(nvml.lib().nvmlEventSetCreate.as_ref())?;
        let mut set = ptr::null_mut();
        // SAFETY: the library is initialised, and `set` outlives the call.
        nvml_try(unsafe { create(&raw mut set) })?;
        Ok(Self { nvml, set })
    }

    /// Returns the event types that a GPU supports.
    pub(super) fn supported_events(device: &Device<'_>) -> NvmlResult<u64> {
        let lib = device.nvml().lib();
        let call = nvml_sym(lib.nvmlDeviceGetSupportedEventTypes.as_ref())?;
        let mut types = 0;
        // SAFETY: the handle is valid while `device` borrows the library, and `types` outlives the call.
        nvml_try(unsafe { call(device.handle(), &raw mut types) })?;
        Ok(types)
    }

    pub(super) fn register(&self, device: &Device<'_>, types: u64) -> NvmlResult<()> {
        let register = nvml_sym(self.nvml.lib().nvmlDeviceRegisterEvents.as_ref())?;
        // SAFETY: handle and set belong to the same library, which both keep loaded.
        nvml_try(unsafe { register(device.handle(), types, self.set) })
    }

    /// Waits for the next event; `None` after the timeout.
    pub(super) fn wait(&mut self, milliseconds: u32) -> NvmlResult<Option<RawEvent>> {
        let wait = nvml_sym(self.nvml.lib().nvmlEventSetWait_v2.as_ref())?;
        let mut data = nvmlEventData_t {
            device: ptr::null_mut(),
            eventType: 0,
            eventData: 0,
            gpuInstanceId: u32::MAX,
            computeInstanceId: u32::MAX,
        };
        // SAFETY: the set is valid until it is dropped, and `data` outlives the call.
        let code = unsafe { wait(self.set, &raw mut data, milliseconds) };
        if code == nvmlReturn_enum_NVML_ERROR_TIMEOUT {
            return Ok(None);
        }
        nvml_try(code)?;
        Ok(Some(RawEvent {
            gpu: data.device.addr(),
            kind: data.eventType,
            data: data.eventData,
            gi: data.gpuInstanceId,
            ci: data.computeInstanceId,
        }))
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        if let Ok(free) = &self.nvml.lib().nvmlEventSetFree {
            // SAFETY: the set was made by this library, is freed once, and is not used after.
            let _ = unsafe { free(self.set) };
        }
    }
}
