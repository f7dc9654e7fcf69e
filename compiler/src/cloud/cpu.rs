//! Machines without GPUs, as far as their names tell.

use super::machine::CpuArchitecture;

/// A machine without GPUs, by the naming rule of its cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMachine {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB.
    pub memory_mib: u32,
    /// What its CPUs run.
    pub architecture: CpuArchitecture,
}
