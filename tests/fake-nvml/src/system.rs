//! Calls about the library, the driver and the list of GPUs.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED as NO_DRIVER,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_UNINITIALIZED as UNINITIALISED, nvmlReturn_t,
};

use crate::answer::{USERS, answer, answer_always, responding_gpu, write_out, write_text};
use crate::device::full_gpu_uuid;
use crate::handle::DeviceHandle;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    answer_always("nvmlInit_v2", |state| {
        if state.text("gpus").is_none() {
            return Err(NO_DRIVER);
        }
        USERS.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    answer_always("nvmlShutdown", |_| {
        let fewer = |users: u32| users.checked_sub(1);
        let before = USERS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
        before.map(|_| ()).map_err(|_| UNINITIALISED)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(
    version: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    answer("nvmlSystemGetDriverVersion", |state| {
        let text = state.text("driver").unwrap_or("570.86.15");
        // SAFETY: nvml.h requires a buffer and its length.
        unsafe { write_text(version, length, text) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    answer("nvmlSystemGetCudaDriverVersion_v2", |state| {
        let number = state.number("cuda").unwrap_or(12_080);
        let number = c_int::try_from(number).map_err(|_| INVALID)?;
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(version, number) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> nvmlReturn_t {
    answer("nvmlDeviceGetCount_v2", |state| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(count, state.count()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(
    index: c_uint,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let name = "nvmlDeviceGetHandleByIndex_v2";
    answer(name, |state| {
        let gpu = responding_gpu(state, index, name)?;
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(device, DeviceHandle::FullGpu(gpu.index).handle()) }
    })
}

/// Finds full GPUs only: NVML also finds MIG devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let name = "nvmlDeviceGetHandleByUUID";
    answer(name, |state| {
        if uuid.is_null() {
            return Err(INVALID);
        }
        // SAFETY: nvml.h requires a text that ends with a zero byte.
        let uuid = unsafe { CStr::from_ptr(uuid) }.to_bytes();
        let gpus = (0..state.count()).filter_map(|index| state.gpu(index));
        let mut found = gpus.filter(|gpu| full_gpu_uuid(*gpu).as_bytes() == uuid);
        let gpu = responding_gpu(state, found.next().ok_or(NOT_FOUND)?.index, name)?;
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(device, DeviceHandle::FullGpu(gpu.index).handle()) }
    })
}
