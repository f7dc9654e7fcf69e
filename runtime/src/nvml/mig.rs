//! What cuts a GPU into slices. Only `mig apply` asks for these; the daemon itself changes nothing on a card.

use super::{MigMode, NvmlError};

/// The part of a driver that changes a GPU's MIG layout. All of it takes a privileged process.
pub trait MigControl: Send + Sync {
    /// Switches MIG mode on or off. Where the answer's two halves differ, the GPU needs a reset before it is so.
    fn set_mig_mode(&self, gpu: u32, on: bool) -> Result<MigMode, NvmlError>;

    /// The sizes of slice that the GPU knows. MIG mode has to be on.
    fn mig_profiles(&self, gpu: u32) -> Result<Vec<MigProfile>, NvmlError>;

    /// The GPU instances that there are, by where they lie, each with its compute instances.
    fn gpu_instances(&self, gpu: u32) -> Result<Vec<GpuInstance>, NvmlError>;

    /// Makes a GPU instance of this profile at this place (start and size in memory slices) and answers its number.
    fn create_gpu_instance(
        &self,
        gpu: u32,
        profile: &str,
        place: (u32, u32),
    ) -> Result<u32, NvmlError>;

    /// Makes a compute instance with so many compute slices in a GPU instance and answers its number.
    fn create_compute_instance(&self, gpu: u32, gi: u32, slices: u32) -> Result<u32, NvmlError>;

    /// Removes a compute instance. One in use is left alone ([`super::NvmlErrorKind::InUse`]).
    fn destroy_compute_instance(&self, gpu: u32, gi: u32, ci: u32) -> Result<(), NvmlError>;

    /// Removes a GPU instance, which must have no compute instance left.
    fn destroy_gpu_instance(&self, gpu: u32, gi: u32) -> Result<(), NvmlError>;

    /// How many processes hold the GPU or one of its slices: computing, drawing, or through MPS.
    fn process_count(&self, gpu: u32) -> Result<u32, NvmlError>;
}

/// A size of GPU instance on one card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigProfile {
    /// `1g.10gb+me`.
    pub name: String,
    /// The number that the driver makes instances by; `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Compute slices.
    pub slices: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// How many fit on an empty card.
    pub most: u32,
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInstance {
    /// Its number on the GPU.
    pub id: u32,
    /// Its profile: `3g.40gb`.
    pub profile: String,
    /// Compute slices.
    pub slices: u32,
    /// Where it lies, in memory slices: start and size.
    pub place: (u32, u32),
    /// The compute instances in it, by number.
    pub compute: Vec<ComputeInstance>,
}

/// A compute instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeInstance {
    /// Its number in the GPU instance.
    pub id: u32,
    /// Compute slices.
    pub slices: u32,
}
