//! The driver interface in plain values, implemented by libnvidia-ml and by a fake.
//!
//! Every call may fail for one GPU and succeed for the next, so each call is about one GPU.

mod driver_handle;
mod exclusive;
pub mod fake;
pub mod guard;
mod mig;
mod real;
pub mod reports;
pub mod watcher;

use std::fmt;
use std::time::Duration;

pub use driver_handle::DriverHandle;
pub use exclusive::MpsControl;
pub use mig::{ComputeInstance, GpuInstance, MigControl, MigProfile};
pub use real::Real;

/// The driver of a node.
///
/// Calls may take milliseconds, and some need a privileged process; no call is made while a pod waits for an
/// allocation.
pub trait Nvml: Send + Sync {
    /// The versions of the driver.
    fn driver(&self) -> Result<DriverInfo, NvmlError>;

    /// Returns the number of GPUs, including lost ones.
    fn gpu_count(&self) -> Result<u32, NvmlError>;

    /// Returns the static properties of the GPU with this index.
    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError>;

    /// Returns the link between two GPUs, as of the last [`Nvml::gpu`] of each of them.
    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError>;

    /// Returns whether the GPU works, and the recovery action that the driver requests.
    fn condition(&self, index: u32) -> Result<Condition, NvmlError>;

    /// Measures the GPU. Values that the GPU model does not support are left out.
    fn sample(&self, index: u32) -> Result<Sample, NvmlError>;

    /// Subscribes to GPU events. GPUs that do not support it are listed in the result; the others are
    /// monitored.
    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError>;
}

/// A subscription to GPU events.
pub trait Watch: Send {
    /// The monitored GPUs: the index that events refer to, and the UUID. Both are those of the time of the
    /// subscription.
    fn watched(&self) -> &[(u32, String)];

    /// The GPUs that are not monitored, and why.
    fn unwatched(&self) -> &[(u32, NvmlError)];

    /// Waits for the next event; `None` after the timeout. The driver may return the same error for every wait
    /// immediately, such as while a GPU is lost: callers must pause before they retry.
    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError>;
}

/// A GPU event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmlEvent {
    /// The GPU's index at the time of the subscription; `None` if the driver does not report it, such as for a GPU that
    /// is gone.
    pub gpu: Option<u32>,
    /// The kind of event.
    pub kind: NvmlEventKind,
}

/// The kind of a GPU event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmlEventKind {
    /// A critical error (Xid), and its instance if known.
    Xid {
        /// NVIDIA's number for it.
        xid: u64,
        /// The GPU instance and the compute instance.
        instance: Option<(u32, u32)>,
    },
    /// A correctable memory error.
    SingleBitEcc,
    /// An uncorrectable memory error.
    DoubleBitEcc,
    /// The GPU instances changed (`nvmlEventMigConfigChange`).
    MigChanged,
    /// The GPU is unavailable (`nvmlEventTypeGpuUnavailableError`).
    Unavailable,
    /// The requested recovery action changed (`nvmlEventTypeGpuRecoveryAction`).
    RecoveryAction,
}

/// The versions of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverInfo {
    /// `570.86.15`.
    pub version: String,
    /// The CUDA version that the driver supports, major and minor.
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
    /// The PCI IDs, device above vendor: `0x2330_10DE`.
    pub pci_id: u32,
    /// Its memory in bytes; `None` if it shares the memory of the host.
    pub memory_bytes: Option<u64>,
    /// The compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Its MIG mode; `None` if it does not support MIG.
    pub mig: Option<MigMode>,
    /// Its MIG devices, by index. Empty if MIG mode is off.
    pub slices: Vec<MigDeviceInfo>,
    /// Its NVLink partition, once the fabric manager has assigned it.
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

/// The NVLink partition of a GPU in a rack-scale system.
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
pub struct MigDeviceInfo {
    /// The driver's index within the GPU.
    pub index: u32,
    /// `MIG-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c`.
    pub uuid: String,
    /// The ID of the GPU instance.
    pub gi: u32,
    /// The ID of the compute instance.
    pub ci: u32,
    /// The profile: `1g.10gb`, `1c.3g.40gb`, `1g.10gb+me`.
    pub profile: String,
    /// Its placement in memory slices: start and size.
    pub place: Option<(u32, u32)>,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Compute slices of the GPU instance.
    pub gi_slices: u32,
    /// Compute slices of the compute instance.
    pub ci_slices: u32,
    /// Engines other than the multiprocessors.
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

/// The link between two GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The common ancestor of their PCI paths.
    pub meet: CommonAncestor,
    /// NVLinks between them, or from each to a common switch.
    pub nvlinks: u32,
}

/// The common ancestor of the PCI paths of two GPUs, the farthest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CommonAncestor {
    /// The interconnect between processors, or unknown.
    #[default]
    System,
    /// One processor (one NUMA node).
    Processor,
    /// One host bridge.
    HostBridge,
    /// Several PCI switches.
    Switches,
    /// One PCI switch.
    Switch,
    /// One board.
    Board,
}

/// The condition of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The requested recovery action (`NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`); `None` if the driver does not report it.
    pub action: Option<RecoveryAction>,
    /// Whether the remapping of a memory row failed.
    pub remap_failed: bool,
}

/// A recovery action that the driver requests (nvml.h 13, `nvmlDeviceGpuRecoveryAction_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecoveryAction {
    /// Nothing.
    Nothing,
    /// A reset of the GPU.
    ResetGpu,
    /// A reboot of the node.
    RebootNode,
    /// Draining of peer-to-peer traffic.
    DrainPeers,
    /// Draining of workloads, then a reset of the GPU.
    DrainAndReset,
    /// Recovery of the IMEX domain.
    RecoverImex,
    /// An action that this version does not know.
    Other(u32),
}

/// A measurement of a GPU. Units are those of NVIDIA's DCGM.
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
    /// Rows remapped after correctable errors.
    pub correctable_remapped_rows: Option<u64>,
    /// Rows remapped after uncorrectable errors.
    pub uncorrectable_remapped_rows: Option<u64>,
    /// Whether the remapping of a row failed.
    pub remap_failure: Option<bool>,
    /// Correctable memory errors over the lifetime of the GPU.
    pub single_bit_errors: Option<u64>,
    /// Uncorrectable memory errors over the lifetime of the GPU.
    pub double_bit_errors: Option<u64>,
    /// Memory of each MIG device in MiB, used and free, by UUID.
    pub slices: Vec<(String, u64, u64)>,
}

/// A failed driver call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmlError {
    /// The kind of error.
    pub kind: NvmlErrorKind,
    /// The call, and the message of NVML.
    pub message: String,
}

impl NvmlError {
    /// Whether the driver is not loaded, so that the error says nothing about a GPU.
    pub fn is_driver_missing(&self) -> bool {
        matches!(
            self.kind,
            NvmlErrorKind::NoDriver | NvmlErrorKind::NoLibrary
        )
    }
}

/// The kinds of errors that the daemon distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmlErrorKind {
    /// The library does not exist or cannot be loaded.
    NoLibrary,
    /// The platform is not supported: Windows Subsystem for Linux, or a Tegra board.
    Unsupported,
    /// The library exists, but the driver is not loaded.
    NoDriver,
    /// The GPU fell off the bus.
    GpuLost,
    /// The GPU model or the driver does not support the call.
    NotSupported,
    /// The process lacks the permission.
    NoPermission,
    /// The GPU is in use.
    InUse,
    /// The call did not return in time.
    TimedOut,
    /// Anything else.
    Other,
}

impl NvmlErrorKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::NoLibrary,
        Self::Unsupported,
        Self::NoDriver,
        Self::GpuLost,
        Self::NotSupported,
        Self::NoPermission,
        Self::InUse,
        Self::TimedOut,
        Self::Other,
    ];
}

impl fmt::Display for NvmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NvmlError {}
