//! Machine types without GPUs, as far as their names tell their size.
//!
//! There are thousands, and nothing hangs on most of them: a system pool only needs to be known to be large enough
//! and of which architecture. So each cloud's `cpu.rs` reads the size out of the name, for the families where the
//! rule is certain, and answers `None` for every other. That a name can be read does not mean that the cloud has such
//! a machine.

use super::machine::CpuArchitecture;

/// The size of a machine type, read from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMachine {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB.
    pub memory_mib: u32,
    /// What its CPUs run.
    pub architecture: CpuArchitecture,
}
