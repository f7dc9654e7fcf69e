//! Properties of machine types that the catalogs of all clouds have.

use gpuc_schema::gpu::GpuModel;

use super::cpu::CpuMachine;

/// A machine type with GPUs. The catalog of a cloud adds properties that only that cloud has.
#[derive(Debug)]
pub struct Machine {
    /// The cloud's name for it: `p5.48xlarge`, `a2-highgpu-1g`, `Standard_NC24ads_A100_v4`.
    pub name: &'static str,
    /// The family or series it belongs to.
    pub family: &'static str,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB; `None` without a source.
    pub memory_mib: Option<u32>,
    /// The CPU architecture.
    pub architecture: CpuArchitecture,
    /// Its GPUs.
    pub gpus: MachineGpus,
    /// Its availability.
    pub status: Status,
    /// A remark for users.
    pub note: Option<&'static str>,
    /// The source of the row: repository, path and revision, or URL and date.
    pub source: &'static str,
}

/// The GPUs of a machine.
#[derive(Debug)]
pub struct MachineGpus {
    /// The GPU model.
    pub model: &'static GpuModel,
    /// The number of GPUs that a container can request on an exclusive node.
    pub count: u32,
    /// Memory of one GPU in MiB as documented by the cloud; `None` without a source.
    pub memory_mib: Option<u32>,
    /// The fraction of a GPU that this machine type has, if it is less than one.
    pub fraction: Option<Fraction>,
    /// The number of GPUs that the cloud's API reports, if it differs from `count`: autoscalers use this number.
    pub reported: Option<u32>,
}

/// A fraction of one GPU: a virtual GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// The numerator of the fraction.
    pub numerator: u32,
    /// The denominator of the fraction.
    pub denominator: u32,
}

impl Fraction {
    /// Less than one GPU; the cloud does not document how much.
    pub const UNKNOWN: Self = Self {
        numerator: 0,
        denominator: 0,
    };
}

impl MachineGpus {
    /// Full GPUs, all of which the cloud's API reports.
    pub const fn full_gpus(model: &'static GpuModel, count: u32, memory_mib: Option<u32>) -> Self {
        Self {
            model,
            count,
            memory_mib,
            fraction: None,
            reported: None,
        }
    }
}

/// The CPU architecture of a machine type.
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

/// The availability of a machine type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be created.
    Current,
    /// Participants of the preview can create it; names may change.
    Preview,
    /// It can be created, but the cloud and its tools are phasing it out.
    PreviousGeneration,
    /// It is available only as part of a larger machine.
    PartOfLarger,
    /// It can no longer be created.
    Retired {
        /// The date of retirement, such as `2025-09-30`, if known.
        since: Option<&'static str>,
        /// Replacements, closest match first.
        use_instead: &'static [&'static str],
    },
}

/// The classification of a machine type by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineName {
    /// A machine type without GPUs, of this size.
    Cpu(CpuMachine),
    /// A machine type with an unsupported accelerator: its name.
    OtherAccelerator(&'static str),
    /// A machine type of an old family with NVIDIA GPUs, which the catalog omits: the name of the GPUs.
    UnsupportedGpus(&'static str),
    /// The name of a machine type with GPUs that the catalog does not contain.
    Gpus,
    /// Probably a typo of one of these names of machine types without GPUs.
    Mistyped(Vec<String>),
    /// A name with the format of a machine type.
    Plausible,
    /// A name that is not valid for a machine type of this cloud.
    Impossible,
}
