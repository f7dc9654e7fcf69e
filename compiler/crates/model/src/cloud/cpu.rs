//! Machine types without GPUs, with the size that their names determine.
//!
//! There are thousands of them, and gpuc needs only the size and the architecture of a system pool. Each cloud's
//! `cpu.rs` derives the size from the name for the families where the rule is certain, and returns `None` for all
//! others. A name with a valid format does not imply that the cloud has such a machine type.

use super::machine::CpuArchitecture;

/// The size of a machine type, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMachine {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB.
    pub memory_mib: u32,
    /// The CPU architecture.
    pub architecture: CpuArchitecture,
}
