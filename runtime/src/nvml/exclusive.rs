//! What keeps all but one process off a GPU.

use super::NvmlError;

/// The part of a driver that says how many processes may open a GPU. It takes a privileged process.
pub trait MpsControl {
    /// Lets one process at a time open the GPU, or everybody again.
    fn set_exclusive_process(&self, gpu: u32, on: bool) -> Result<(), NvmlError>;
}
