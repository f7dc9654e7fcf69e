//! The compute mode of GPUs.

use nvml_wrapper::enum_wrappers::device::ComputeMode;

use super::Real;
use super::error::call_error;
use crate::nvml::{MpsControl, NvmlError};

impl MpsControl for Real {
    fn set_exclusive_process(&self, gpu: u32, on: bool) -> Result<(), NvmlError> {
        let mode = if on {
            ComputeMode::ExclusiveProcess
        } else {
            ComputeMode::Default
        };
        let device = self.nvml.device_by_index(gpu);
        let set = device.and_then(|mut device| device.set_compute_mode(mode));
        set.map_err(|error| call_error(&format!("the compute mode of GPU {gpu}"), &error))
    }
}
