//! The driver interface for MIG devices. Only `mig apply` uses it; the daemon itself changes nothing on a GPU.

use super::{MigMode, NvmlError};

/// The driver interface for the MIG devices of a GPU. It needs a privileged process.
pub trait MigControl: Send + Sync {
    /// Switches MIG mode on or off. If the current and the pending mode of the answer differ, the GPU needs a reset.
    fn set_mig_mode(&self, gpu: u32, on: bool) -> Result<MigMode, NvmlError>;

    /// Returns the profiles that the GPU supports, in both modes; none if it does not support MIG.
    fn mig_profiles(&self, gpu: u32) -> Result<Vec<MigProfile>, NvmlError>;

    /// Returns the GPU instances by placement, each with its compute instances.
    fn gpu_instances(&self, gpu: u32) -> Result<Vec<GpuInstance>, NvmlError>;

    /// Creates a GPU instance of this profile at this placement (start and size in memory slices). Returns its ID.
    fn create_gpu_instance(
        &self,
        gpu: u32,
        profile: &str,
        place: (u32, u32),
    ) -> Result<u32, NvmlError>;

    /// Creates a compute instance with this number of compute slices in a GPU instance. Returns its ID.
    fn create_compute_instance(&self, gpu: u32, gi: u32, slices: u32) -> Result<u32, NvmlError>;

    /// Destroys a compute instance, unless it is in use ([`super::NvmlErrorKind::InUse`]).
    fn destroy_compute_instance(&self, gpu: u32, gi: u32, ci: u32) -> Result<(), NvmlError>;

    /// Destroys a GPU instance, which must have no compute instances.
    fn destroy_gpu_instance(&self, gpu: u32, gi: u32) -> Result<(), NvmlError>;

    /// Returns the number of processes that use the GPU or its MIG devices: compute, graphics, or through MPS.
    fn process_count(&self, gpu: u32) -> Result<u32, NvmlError>;
}

/// A GPU instance profile of a GPU model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigProfile {
    /// `1g.10gb+me`.
    pub name: String,
    /// Its ID; `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Compute slices.
    pub slices: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The maximum number on an empty GPU.
    pub max_instances: u32,
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInstance {
    /// Its ID on the GPU.
    pub id: u32,
    /// Its profile: `3g.40gb`.
    pub profile: String,
    /// Compute slices.
    pub slices: u32,
    /// Its placement, in memory slices: start and size.
    pub placement: (u32, u32),
    /// Its compute instances, by ID.
    pub compute: Vec<ComputeInstance>,
}

/// A compute instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeInstance {
    /// Its ID in the GPU instance.
    pub id: u32,
    /// Compute slices.
    pub slices: u32,
}
