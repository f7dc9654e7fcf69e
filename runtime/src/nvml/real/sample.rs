//! Measurements and condition of a GPU.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, NVML_FI_DEV_MEMORY_TEMP,
};

use super::error::{error_kind, none_if_unsupported};
use super::{mig_devices, raw};
use crate::nvml::{Condition, NvmlErrorKind, RecoveryAction, Sample};

const MIB: u64 = 1 << 20;

/// Returns the condition of a GPU: it must report its UUID and memory, and may request a recovery action.
pub(super) fn condition(device: &Device<'_>) -> Result<Condition, WrapperError> {
    device.uuid()?;
    none_if_unsupported(device.memory_info())?;
    let rows = none_if_unsupported(raw::remapped_rows(device))?;
    Ok(Condition {
        action: read_field(device, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)?.map(recovery_action),
        remap_failed: rows.is_some_and(|rows| rows.failed),
    })
}

/// Measures a GPU. Values that cannot be read are left out, whatever the reason, so that one failed sensor does not
/// affect the others; a GPU or driver that is gone is an error.
pub(super) fn read(device: &Device<'_>) -> Result<Sample, WrapperError> {
    let memory = none_if_unavailable(device.memory_info())?;
    let rows = none_if_unavailable(raw::remapped_rows(device))?;
    let rates = none_if_unavailable(device.utilization_rates())?;
    let milliwatts = none_if_unavailable(device.power_usage())?;
    let errors = |kind| none_if_unavailable(device.total_ecc_errors(kind, EccCounter::Aggregate));
    Ok(Sample {
        temperature: none_if_unavailable(device.temperature(TemperatureSensor::Gpu))?,
        memory_temperature: none_if_unavailable(read_field(device, NVML_FI_DEV_MEMORY_TEMP))?
            .flatten(),
        power: milliwatts.map(|milliwatts| f64::from(milliwatts) / 1000.0),
        energy: none_if_unavailable(device.total_energy_consumption())?,
        sm_clock: none_if_unavailable(device.clock_info(Clock::SM))?,
        memory_clock: none_if_unavailable(device.clock_info(Clock::Memory))?,
        utilization: rates.as_ref().map(|rates| rates.gpu),
        copy_utilization: rates.as_ref().map(|rates| rates.memory),
        encoder_utilization: none_if_unavailable(device.encoder_utilization())?
            .map(|used| used.utilization),
        decoder_utilization: none_if_unavailable(device.decoder_utilization())?
            .map(|used| used.utilization),
        memory_used: memory.as_ref().map(|memory| memory.used / MIB),
        memory_free: memory.as_ref().map(|memory| memory.free / MIB),
        memory_reserved: memory.as_ref().map(|memory| memory.reserved / MIB),
        pcie_replays: none_if_unavailable(device.pcie_replay_counter())?.map(u64::from),
        correctable_remapped_rows: rows.map(|rows| rows.correctable.into()),
        uncorrectable_remapped_rows: rows.map(|rows| rows.uncorrectable.into()),
        remap_failure: rows.map(|rows| rows.failed),
        single_bit_errors: errors(MemoryError::Corrected)?,
        double_bit_errors: errors(MemoryError::Uncorrected)?,
        slices: slice_memory(device)?,
    })
}

/// Returns the memory of each MIG device.
fn slice_memory(device: &Device<'_>) -> Result<Vec<(String, u64, u64)>, WrapperError> {
    let is_partitioned =
        none_if_unavailable(device.mig_mode())?.is_some_and(|mode| mode.current != 0);
    if !is_partitioned {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (_, mig_device) in
        none_if_unavailable(mig_devices::mig_device_handles(device))?.unwrap_or_default()
    {
        if let (Some(uuid), Some(memory)) = (
            none_if_unavailable(mig_device.uuid())?,
            none_if_unavailable(mig_device.memory_info())?,
        ) {
            found.push((uuid, memory.used / MIB, memory.free / MIB));
        }
    }
    Ok(found)
}

/// Returns the value, or `None` if it is not available; an error if further calls are useless.
fn none_if_unavailable<T>(result: Result<T, WrapperError>) -> Result<Option<T>, WrapperError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error_kind(&error) {
            NvmlErrorKind::GpuLost | NvmlErrorKind::NoDriver => Err(error),
            _ => Ok(None),
        },
    }
}

/// Returns an NVML field value, or `None` if it is not supported.
fn read_field(device: &Device<'_>, id: u32) -> Result<Option<u32>, WrapperError> {
    let values = none_if_unsupported(device.field_values_for(&[FieldId(id)]))?;
    let value = values.into_iter().flatten().next();
    let Some(Ok(value)) = value.map(|sample| sample.and_then(|sample| sample.value)) else {
        return Ok(None);
    };
    Ok(match value {
        SampleValue::U32(value) => Some(value),
        SampleValue::U64(value) => u32::try_from(value).ok(),
        SampleValue::I64(value) => u32::try_from(value).ok(),
        SampleValue::F64(_) => None,
    })
}

fn recovery_action(number: u32) -> RecoveryAction {
    match number {
        0 => RecoveryAction::Nothing,
        1 => RecoveryAction::ResetGpu,
        2 => RecoveryAction::RebootNode,
        3 => RecoveryAction::DrainPeers,
        4 => RecoveryAction::DrainAndReset,
        5 => RecoveryAction::RecoverImex,
        other => RecoveryAction::Other(other),
    }
}
