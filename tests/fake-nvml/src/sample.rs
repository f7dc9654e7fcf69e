//! Calls about measurements and the health of a GPU.

use std::ffi::{c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::field_id::{
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, NVML_FI_DEV_MEMORY_TEMP,
};
use nvml_wrapper_sys::bindings::{
    nvmlClockType_t, nvmlDevice_t, nvmlEccCounterType_t, nvmlFieldValue_t, nvmlMemoryErrorType_t,
    nvmlProcessInfo_t, nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as TOO_SMALL,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
    nvmlTemperatureSensors_t, nvmlUtilization_t,
    nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT as UNSIGNED,
};

use crate::answer::{Outcome, answer_device, write_out};
use crate::state::{Gpu, number};

/// Returns a number of the state file, or the default. `none` is the error "not supported".
fn read_number<T: TryFrom<u64>>(gpu: Gpu<'_>, key: &str, default: u64) -> Result<T, nvmlReturn_t> {
    let value = match gpu.text(key) {
        Some("none") => return Err(NOT_SUPPORTED),
        Some(text) => number(text).ok_or(INVALID)?,
        None => default,
    };
    T::try_from(value).map_err(|_| INVALID)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    _sensor: nvmlTemperatureSensors_t,
    degrees: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetTemperature", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(degrees, read_number(gpu, "temperature", 41)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(
    device: nvmlDevice_t,
    milliwatts: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetPowerUsage", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(milliwatts, read_number(gpu, "power_mw", 71_500)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    device: nvmlDevice_t,
    millijoules: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetTotalEnergyConsumption", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(millijoules, read_number(gpu, "energy_mj", 0)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: nvmlDevice_t,
    clock: nvmlClockType_t,
    megahertz: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetClockInfo", device, |gpu, _| {
        // NVML_CLOCK_SM and NVML_CLOCK_MEM.
        let answer = match clock {
            1 => read_number(gpu, "sm_clock", 345)?,
            2 => read_number(gpu, "memory_clock", 2_619)?,
            _ => return Err(NOT_SUPPORTED),
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(megahertz, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    rates: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetUtilizationRates", device, |gpu, _| {
        let answer = nvmlUtilization_t {
            gpu: read_number(gpu, "utilization", 0)?,
            memory: read_number(gpu, "copy_utilization", 0)?,
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(rates, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEncoderUtilization(
    device: nvmlDevice_t,
    percent: *mut c_uint,
    period: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetEncoderUtilization", device, |gpu, _| {
        // SAFETY: nvml.h requires two pointers for the result.
        unsafe {
            write_out(percent, read_number(gpu, "encoder", 0)?)?;
            write_out(period, 167_000)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDecoderUtilization(
    device: nvmlDevice_t,
    percent: *mut c_uint,
    period: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetDecoderUtilization", device, |gpu, _| {
        // SAFETY: nvml.h requires two pointers for the result.
        unsafe {
            write_out(percent, read_number(gpu, "decoder", 0)?)?;
            write_out(period, 167_000)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPcieReplayCounter(
    device: nvmlDevice_t,
    count: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetPcieReplayCounter", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(count, read_number(gpu, "replays", 0)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: nvmlDevice_t,
    kind: nvmlMemoryErrorType_t,
    counter: nvmlEccCounterType_t,
    count: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetTotalEccErrors", device, |gpu, _| {
        // NVML_AGGREGATE_ECC, then NVML_MEMORY_ERROR_TYPE_CORRECTED and …_UNCORRECTED.
        let answer = match (counter, kind) {
            (1, 0) => read_number(gpu, "single_bit", 0)?,
            (1, 1) => read_number(gpu, "double_bit", 0)?,
            _ => return Err(NOT_SUPPORTED),
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(count, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRemappedRows(
    device: nvmlDevice_t,
    correctable: *mut c_uint,
    uncorrectable: *mut c_uint,
    pending: *mut c_uint,
    failed: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetRemappedRows", device, |gpu, _| {
        let rows = gpu.text("remapped").unwrap_or("0 0 0 0");
        if rows == "none" {
            return Err(NOT_SUPPORTED);
        }
        let mut rows = rows.split_whitespace().map(str::parse);
        for target in [correctable, uncorrectable, pending, failed] {
            let row = rows.next().and_then(Result::ok).ok_or(INVALID)?;
            // SAFETY: nvml.h requires four pointers for the result.
            unsafe { write_out(target, row) }?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetFieldValues", device, |gpu, _| {
        let count = usize::try_from(count).map_err(|_| INVALID)?;
        if values.is_null() {
            return Err(INVALID);
        }
        // SAFETY: nvml.h requires an array of `count` values with the IDs of the fields.
        let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
        for value in values {
            let answer = match value.fieldId {
                NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => read_number(gpu, "recovery_action", 0),
                NVML_FI_DEV_MEMORY_TEMP => read_number(gpu, "memory_temperature", 49),
                _ => Err(NOT_SUPPORTED),
            };
            value.valueType = UNSIGNED;
            value.nvmlReturn = answer.err().unwrap_or(0);
            value.value.uiVal = answer.unwrap_or(0);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    answer_device(
        "nvmlDeviceGetComputeRunningProcesses_v3",
        device,
        |gpu, _| {
            let running = read_number(gpu, "processes", 0)?;
            // SAFETY: nvml.h requires an array `infos` and its length in `count`.
            unsafe { list_processes(running, count, infos) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    answer_device(
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        device,
        |gpu, _| {
            let running = read_number(gpu, "graphics_processes", 0)?;
            // SAFETY: as above.
            unsafe { list_processes(running, count, infos) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    answer_device(
        "nvmlDeviceGetMPSComputeRunningProcesses_v3",
        device,
        |gpu, _| {
            let running = read_number(gpu, "mps_processes", 0)?;
            // SAFETY: as above.
            unsafe { list_processes(running, count, infos) }
        },
    )
}

/// Lists the processes, or returns the required size of the array.
///
/// # Safety
///
/// `count` is null or points to the length of the array `infos`.
unsafe fn list_processes(
    running: u32,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_t,
) -> Outcome {
    // SAFETY: guaranteed by the caller.
    let length = *unsafe { count.as_ref() }.ok_or(INVALID)?;
    // SAFETY: as above.
    unsafe { write_out(count, running) }?;
    if length < running {
        return Err(TOO_SMALL);
    }
    for number in 0..running {
        let process = nvmlProcessInfo_t {
            pid: 4_000 + number,
            usedGpuMemory: 512 << 20,
            gpuInstanceId: u32::MAX,
            computeInstanceId: u32::MAX,
        };
        // SAFETY: `number` is less than the length that the caller guarantees.
        unsafe { write_out(infos.wrapping_add(number as usize), process) }?;
    }
    Ok(())
}
