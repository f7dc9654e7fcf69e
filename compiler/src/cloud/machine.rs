//! What a cloud's catalog says of a machine type, as far as every cloud says it.

use gpuc_schema::gpu::GpuModel;

use super::cpu::CpuMachine;

/// A machine type with GPUs. A cloud's own table adds what only that cloud has.
#[derive(Debug)]
pub struct Machine {
    /// The cloud's name for it: `p5.48xlarge`, `a2-highgpu-1g`, `Standard_NC24ads_A100_v4`.
    pub name: &'static str,
    /// The family or series it belongs to.
    pub family: &'static str,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB, where it is sourced.
    pub memory_mib: Option<u32>,
    /// What its CPUs run.
    pub architecture: CpuArchitecture,
    /// Its GPUs.
    pub gpus: MachineGpus,
    /// Whether it can still be had.
    pub status: Status,
    /// What a user ought to know about it.
    pub note: Option<&'static str>,
    /// Where the row comes from: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// The GPUs of a machine.
#[derive(Debug)]
pub struct MachineGpus {
    /// The card.
    pub model: &'static GpuModel,
    /// How many of them a container can ask for on an exclusive node.
    pub count: u32,
    /// Memory of one GPU in MiB as the cloud states it, where it is sourced.
    pub memory_mib: Option<u32>,
    /// The part of a card that this machine gets, when it is less than one.
    pub fraction: Option<Fraction>,
    /// How many GPUs the cloud's own API reports, where that is not `count`: what an autoscaler believes.
    pub reported: Option<u32>,
}

/// A part of one card: a virtual GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// Parts had.
    pub numerator: u32,
    /// Parts in a whole card.
    pub denominator: u32,
}

impl Fraction {
    /// Less than a card, but the cloud has not said how much.
    pub const UNKNOWN: Self = Self {
        numerator: 0,
        denominator: 0,
    };
}

impl MachineGpus {
    /// Whole cards, which the cloud's API counts as they are.
    pub const fn whole(model: &'static GpuModel, count: u32, memory_mib: Option<u32>) -> Self {
        Self {
            model,
            count,
            memory_mib,
            fraction: None,
            reported: None,
        }
    }
}

/// What a machine's CPUs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuArchitecture {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl CpuArchitecture {
    /// The value of the node label `kubernetes.io/arch`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

/// Whether a machine type can still be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be created.
    Current,
    /// It can be created by who takes part in the preview; names may change.
    Preview,
    /// It can be created, but the cloud and its tools move away from it.
    PreviousGeneration,
    /// It is rented only as part of a larger machine.
    PartOfLarger,
    /// It cannot be created any more.
    Retired {
        /// The day it ended, as `2025-09-30`, where it is known.
        since: Option<&'static str>,
        /// What the cloud has now for the same work, nearest first.
        use_instead: &'static [&'static str],
    },
}

/// What a machine type's name says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineName {
    /// A machine without GPUs, of this size.
    Cpu(CpuMachine),
    /// A machine with accelerators that are not NVIDIA's: whose.
    OtherAccelerator(&'static str),
    /// It looks like a machine type with GPUs, and no table has it.
    Gpus,
    /// It looks like a machine type; nothing more is known.
    Plausible,
    /// No machine type of this cloud is called so.
    Impossible,
}
