//! Who may open a GPU.

use nvml_wrapper::enum_wrappers::device::ComputeMode;

use super::Real;
use crate::nvml::{MpsControl, NvmlError};

impl MpsControl for Real {
    fn set_exclusive_process(&self, gpu: u32, on: bool) -> Result<(), NvmlError> {
        let mode = if on {
            ComputeMode::ExclusiveProcess
        } else {
            ComputeMode::Default
        };
        self.ask(gpu, |device| {
            // A device is asked for by value to be changed.
            let mut device = device.clone();
            device.set_compute_mode(mode)
        })
    }
}
