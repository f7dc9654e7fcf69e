//! Handles. They are numbers in the form of pointers, and do not refer to memory.

use std::ptr;

use nvml_wrapper_sys::bindings::{
    nvmlComputeInstance_t, nvmlDevice_t, nvmlEventSet_t, nvmlGpuInstance_t,
};

const GPU_INSTANCE: usize = 1 << 40;
const COMPUTE_INSTANCE: usize = 1 << 41;
const EVENT_SET: usize = 1 << 42;

/// The device of a handle.
#[derive(Clone, Copy)]
pub(crate) enum DeviceHandle {
    FullGpu(u32),
    /// A MIG device: the GPU, the GPU instance and the compute instance.
    MigDevice(u32, u32, u32),
}

impl DeviceHandle {
    pub(crate) fn from_handle(handle: nvmlDevice_t) -> Option<Self> {
        let number = handle.addr();
        if number >= GPU_INSTANCE {
            return None;
        }
        let (gpu, gi, ci) = decode(number)?;
        Some(match gi.checked_sub(1) {
            None => Self::FullGpu(gpu),
            Some(gi) => Self::MigDevice(gpu, gi, ci),
        })
    }

    pub(crate) fn handle(self) -> nvmlDevice_t {
        let number = match self {
            Self::FullGpu(gpu) => encode(gpu, 0, 0),
            Self::MigDevice(gpu, gi, ci) => encode(gpu, gi + 1, ci),
        };
        ptr::without_provenance_mut(number)
    }

    pub(crate) fn gpu(self) -> u32 {
        match self {
            Self::FullGpu(gpu) | Self::MigDevice(gpu, ..) => gpu,
        }
    }
}

pub(crate) fn gpu_instance(gpu: u32, gi: u32) -> nvmlGpuInstance_t {
    ptr::without_provenance_mut(GPU_INSTANCE | encode(gpu, gi, 0))
}

/// The GPU and the GPU instance.
pub(crate) fn gpu_instance_from(handle: nvmlGpuInstance_t) -> Option<(u32, u32)> {
    let number = handle.addr();
    let (gpu, gi, _) = decode(number ^ GPU_INSTANCE)?;
    (number & GPU_INSTANCE != 0).then_some((gpu, gi))
}

pub(crate) fn compute_instance(gpu: u32, gi: u32, ci: u32) -> nvmlComputeInstance_t {
    ptr::without_provenance_mut(COMPUTE_INSTANCE | encode(gpu, gi, ci))
}

/// The GPU, the GPU instance and the compute instance.
pub(crate) fn compute_instance_from(handle: nvmlComputeInstance_t) -> Option<(u32, u32, u32)> {
    let number = handle.addr();
    let parts = decode(number ^ COMPUTE_INSTANCE)?;
    (number & COMPUTE_INSTANCE != 0).then_some(parts)
}

pub(crate) fn event_set(number: usize) -> nvmlEventSet_t {
    ptr::without_provenance_mut(EVENT_SET | number)
}

pub(crate) fn event_set_from(handle: nvmlEventSet_t) -> Option<usize> {
    let number = handle.addr();
    (number & EVENT_SET != 0).then_some(number ^ EVENT_SET)
}

/// Encodes a handle: 8 bits for the compute instance, 12 for the GPU instance, the rest for the GPU. The GPU's number
/// begins at one, so that no handle is null.
fn encode(gpu: u32, gi: u32, ci: u32) -> usize {
    let [gpu, gi, ci] = [gpu + 1, gi, ci].map(|part| part as usize);
    gpu << 20 | gi << 8 | ci
}

fn decode(number: usize) -> Option<(u32, u32, u32)> {
    let part = |bits: usize| u32::try_from(bits).ok();
    let gpu = part(number >> 20)?.checked_sub(1)?;
    Some((gpu, part(number >> 8 & 0xFFF)?, part(number & 0xFF)?))
}
