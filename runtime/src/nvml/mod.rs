//! What the daemon asks the driver, in plain values: the door to libnvidia-ml.
//!
//! Everything behind this door may fail for one GPU and not for the next, so each question is about one GPU.

mod exclusive;
pub mod fake;
mod late;
mod mig;
mod real;
pub mod watcher;

use std::fmt;
use std::time::Duration;

pub use exclusive::MpsControl;
pub use late::Late;
pub use mig::{ComputeInstance, GpuInstance, MigControl, MigProfile};
pub use real::Real;

/// The driver of a node.
///
/// Questions may take milliseconds, and some must be asked by a privileged process; none is asked while a pod waits
/// for an answer.
pub trait Nvml: Send + Sync {
    /// The versions of the driver.
    fn driver(&self) -> Result<DriverInfo, NvmlError>;

    /// How many GPUs the driver knows, lost ones among them.
    fn gpu_count(&self) -> Result<u32, NvmlError>;

    /// Everything about the GPU of this index that does not change from one moment to the next.
    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError>;

    /// How two GPUs are joined, as of when [`Nvml::gpu`] last read each of them.
    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError>;

    /// Whether the GPU works, and what the driver wants done where it does not.
    fn condition(&self, index: u32) -> Result<Condition, NvmlError>;

    /// What the GPU is doing now. A number that the card does not have is left out.
    fn sample(&self, index: u32) -> Result<Sample, NvmlError>;

    /// Subscribes to what happens to GPUs. GPUs that take no subscription are named in the answer; the others are
    /// watched.
    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError>;
}

/// A subscription to what happens to GPUs.
pub trait Watch: Send {
    /// The GPUs that are not watched, and why.
    fn unwatched(&self) -> &[(u32, NvmlError)];

    /// Waits for the next event; `None` when none came in time. The driver may answer every wait with the same error at
    /// once, as while a GPU is lost: whoever asks again pauses first.
    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError>;
}

/// What happened to a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmlEvent {
    /// The GPU's index; `None` where the driver does not say which GPU it was, as with one that is gone.
    pub gpu: Option<u32>,
    /// What happened.
    pub kind: NvmlEventKind,
}

/// What can happen to a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmlEventKind {
    /// A critical error, by NVIDIA's number, and the instance it was in where it was in one.
    Xid {
        /// NVIDIA's number for it.
        xid: u64,
        /// The GPU instance and the compute instance.
        instance: Option<(u32, u32)>,
    },
    /// A memory error that could be corrected.
    SingleBitEcc,
    /// A memory error that could not be corrected.
    DoubleBitEcc,
    /// GPU instances came or went (`nvmlEventMigConfigChange`).
    MigChanged,
    /// The GPU cannot be used (`nvmlEventTypeGpuUnavailableError`).
    Unavailable,
    /// The driver wants something done (`nvmlEventTypeGpuRecoveryAction`).
    RecoveryAction,
}

/// The versions of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverInfo {
    /// `570.86.15`.
    pub version: String,
    /// The CUDA version that the driver brings, major and minor.
    pub cuda: (u32, u32),
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuInfo {
    /// The driver's index.
    pub index: u32,
    /// `GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c`.
    pub uuid: String,
    /// The number of its device node, `/dev/nvidia3`.
    pub minor: u32,
    /// `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// `00000000:19:00.0`, as the driver writes it.
    pub pci_bus_id: String,
    /// The PCI ids, device above vendor: `0x2330_10DE`.
    pub pci_id: u32,
    /// Its memory in bytes; `None` where it shares the host's.
    pub memory_bytes: Option<u64>,
    /// The version of its instruction set, major and minor.
    pub compute_capability: (u32, u32),
    /// Its MIG mode; `None` where it has none.
    pub mig: Option<MigMode>,
    /// Its instances, by index. Empty where MIG mode is off.
    pub slices: Vec<SliceInfo>,
    /// The NVLink partition it belongs to, once the fabric manager is done.
    pub clique: Option<Clique>,
}

/// A GPU's MIG mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MigMode {
    /// Whether it is on.
    pub enabled: bool,
    /// Whether it is on after the next reset of the GPU.
    pub pending: bool,
}

/// The NVLink partition of a GPU in a rack.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Clique {
    /// The cluster's UUID, in lower case with hyphens.
    pub cluster: String,
    /// The number within the cluster.
    pub id: u32,
}

/// A MIG device: a compute instance in a GPU instance.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SliceInfo {
    /// The driver's index within the GPU.
    pub index: u32,
    /// `MIG-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c`.
    pub uuid: String,
    /// The GPU instance.
    pub gi: u32,
    /// The compute instance.
    pub ci: u32,
    /// The profile: `1g.10gb`, `1c.3g.40gb`, `1g.10gb+me`.
    pub profile: String,
    /// Where it lies on the GPU's memory axis, in memory slices: start and size.
    pub place: Option<(u32, u32)>,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Compute slices of the GPU instance.
    pub gi_slices: u32,
    /// Compute slices of the compute instance.
    pub ci_slices: u32,
    /// Engines beside the multiprocessors.
    pub engines: Engines,
}

/// The engines of a MIG device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Engines {
    /// Copy engines.
    pub copy: u32,
    /// Video decoders.
    pub decoder: u32,
    /// Video encoders.
    pub encoder: u32,
    /// JPEG decoders.
    pub jpeg: u32,
    /// Optical flow accelerators.
    pub ofa: u32,
}

/// How two GPUs are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Where their PCI paths meet.
    pub meet: Meet,
    /// NVLinks from one to the other, or from each to a switch that both are on.
    pub nvlinks: u32,
}

/// Where the PCI paths of two GPUs meet, the farthest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Meet {
    /// Nowhere nearer than between two processors, or nobody knows.
    #[default]
    System,
    /// On one processor (one NUMA node).
    Processor,
    /// On one host bridge.
    HostBridge,
    /// On several PCI switches.
    Switches,
    /// On one PCI switch.
    Switch,
    /// On one board.
    Board,
}

/// Whether a GPU works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the driver wants done (`NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`); `None` where it does not say.
    pub action: Option<RecoveryAction>,
    /// Whether a row of memory could not be replaced.
    pub remap_failed: bool,
}

/// What the driver wants done about a GPU (nvml.h 13, `nvmlDeviceGpuRecoveryAction_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecoveryAction {
    /// Nothing.
    Nothing,
    /// A reset of the GPU.
    ResetGpu,
    /// A reboot of the node.
    RebootNode,
    /// Peer-to-peer traffic is to stop.
    DrainPeers,
    /// Work is to leave, then the GPU is to be reset.
    DrainAndReset,
    /// The IMEX domain is to be recovered.
    RecoverImex,
    /// Something that this version has no word for.
    Other(u32),
}

/// What a GPU is doing. Units as the fields of NVIDIA's DCGM have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// Degrees Celsius.
    pub memory_temperature: Option<u32>,
    /// Watts.
    pub power: Option<f64>,
    /// Millijoules since the driver was loaded.
    pub energy: Option<u64>,
    /// MHz.
    pub sm_clock: Option<u32>,
    /// MHz.
    pub memory_clock: Option<u32>,
    /// Percent of the time.
    pub utilization: Option<u32>,
    /// Percent of the time.
    pub copy_utilization: Option<u32>,
    /// Percent.
    pub encoder_utilization: Option<u32>,
    /// Percent.
    pub decoder_utilization: Option<u32>,
    /// MiB.
    pub memory_used: Option<u64>,
    /// MiB.
    pub memory_free: Option<u64>,
    /// MiB.
    pub memory_reserved: Option<u64>,
    /// Since the driver was loaded.
    pub pcie_replays: Option<u64>,
    /// Rows of memory replaced after errors that could be corrected.
    pub correctable_remapped_rows: Option<u64>,
    /// Rows of memory replaced after errors that could not.
    pub uncorrectable_remapped_rows: Option<u64>,
    /// Whether a row could not be replaced.
    pub remap_failure: Option<bool>,
    /// Memory errors that could be corrected, since the card was made.
    pub single_bit_errors: Option<u64>,
    /// Memory errors that could not.
    pub double_bit_errors: Option<u64>,
    /// Memory in use on each MIG device in MiB, used and free, by UUID.
    pub slices: Vec<(String, u64, u64)>,
}

/// Why the driver does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmlError {
    /// What kind of trouble it is.
    pub kind: NvmlErrorKind,
    /// What was asked, and what NVML says.
    pub message: String,
}

/// What kinds of trouble the daemon tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmlErrorKind {
    /// The library is not there, or cannot be loaded.
    NoLibrary,
    /// The machine is of a kind that the daemon does not serve: Windows' subsystem for Linux, or a Tegra board.
    Unsupported,
    /// The library is there, the driver is not loaded.
    NoDriver,
    /// The GPU fell off the bus.
    GpuLost,
    /// The card, or this driver, has no such thing.
    NotSupported,
    /// The process may not ask that.
    NoPermission,
    /// The GPU is in use.
    InUse,
    /// Anything else.
    Other,
}

impl fmt::Display for NvmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NvmlError {}
