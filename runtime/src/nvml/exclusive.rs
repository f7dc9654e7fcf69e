//! The compute mode of GPUs.

use super::NvmlError;

/// The driver interface for the compute mode. It needs a privileged process.
pub trait MpsControl {
    /// Switches exclusive-process mode on or off.
    fn set_exclusive_process(&self, gpu: u32, on: bool) -> Result<(), NvmlError>;
}
