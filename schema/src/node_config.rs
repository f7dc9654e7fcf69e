//! The runtime's configuration on the nodes of one pool: a JSON file in a ConfigMap. The compiler writes it and the
//! runtime reads it. The format has its own version. A runtime that is older than its configuration applies the keys
//! that it knows and reports the others; it must not stop advertising GPUs. These types therefore accept unknown
//! keys, and the runtime collects them with `serde_ignored`.

use std::collections::BTreeMap;

use crate::config::MigStrategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `apiVersion` of this format.
pub const API_VERSION: &str = "node.gpuc.dev/v1alpha1";

/// The key of the taint with which nodes register if the runtime must partition their GPUs first. The runtime removes
/// it. The Cluster Autoscaler, including the clouds' own, treats a node with such a startup taint as not yet ready, and
/// ignores the taint when it simulates new nodes; no flag is needed (kubernetes/autoscaler, cluster-autoscaler/FAQ.md,
/// 2026-11).
pub const STARTUP_TAINT: &str = "startup-taint.cluster-autoscaler.kubernetes.io/gpuc";

/// The `kind` of this format.
pub const KIND: &str = "NodeConfig";

/// The runtime's configuration on the nodes of one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeConfig {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The cluster's name.
    pub cluster: String,
    /// The pool's name.
    pub pool: String,
    /// The GPUs that the nodes must have. The runtime reports differences.
    pub expected: ExpectedGpus,
    /// The location of the driver's files.
    pub driver: Driver,
    /// The mechanism that injects devices into containers.
    pub devices: DeviceInjection,
    /// Whether to pass device nodes to the kubelet as well, if the container runtime uses an environment variable or
    /// mounts. A container then keeps its GPUs when systemd or the kubelet's CPU manager rewrites its device rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pass_device_nodes: bool,
    /// How containers share GPUs.
    pub sharing: NodeSharing,
    /// The resources to advertise, with the number of each on a healthy node.
    pub resources: BTreeMap<String, u32>,
    /// Additional components to inject into containers with GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<Extra>,
    /// Which GPU is allocated first if GPUs are shared or partitioned.
    #[serde(default)]
    pub placement: SharePlacement,
    /// The rules by which a GPU becomes unhealthy and healthy again.
    #[serde(default)]
    pub health: HealthPolicy,
    /// The destination of the node's labels.
    #[serde(default)]
    pub labels: LabelOutput,
    /// The HTTP endpoints.
    #[serde(default)]
    pub metrics: MetricsConfig,
    /// The key of the startup taint of a node that is not ready. The runtime removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_taint: Option<String>,
}

/// The settings that the runtime's containers read once, when they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartSettings<'c> {
    /// The location of the driver: the daemon opens it, and its folders are mounted.
    pub driver: &'c Driver,
    /// The injection of devices: its folders are mounted.
    pub devices: &'c DeviceInjection,
    /// How containers share GPUs, if `mig apply` or `mps` reads it.
    pub sharing: Option<&'c NodeSharing>,
}

impl NodeConfig {
    /// Returns the settings that are read once. A change of them takes effect when the pod restarts; the daemon applies
    /// every other change while it runs.
    pub fn start_settings(&self) -> StartSettings<'_> {
        // Every field is named here, so that a new one needs a decision.
        let Self {
            driver,
            devices,
            sharing,
            api_version: _,
            kind: _,
            cluster: _,
            pool: _,
            expected: _,
            pass_device_nodes: _,
            resources: _,
            extras: _,
            placement: _,
            health: _,
            labels: _,
            metrics: _,
            startup_taint: _,
        } = self;
        let is_read_once = match sharing {
            NodeSharing::Exclusive | NodeSharing::TimeSlicing { .. } => false,
            NodeSharing::Mps { .. } => true,
            NodeSharing::Mig { apply, .. } => *apply,
        };
        StartSettings {
            driver,
            devices,
            sharing: is_read_once.then_some(sharing),
        }
    }
}

/// A component that is injected into containers with GPUs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Extra {
    /// GDRCopy: low-latency copies between host and GPU memory.
    Gdrcopy,
    /// GPUDirect Storage: direct transfers from disks or network file systems into GPU memory.
    Gds,
    /// Mellanox network adapters, for GPUDirect RDMA over InfiniBand or RoCE.
    Mofed,
    /// IMEX channel 0: access to GPU memory of other nodes in the same NVLink domain.
    Imex,
}

/// Which GPU is allocated first if GPUs are shared or partitioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SharePlacement {
    /// The GPU with the fewest containers first. This minimizes interference between containers.
    #[default]
    Distributed,
    /// The GPU with the most containers that still has free capacity first. This keeps full GPUs free.
    Packed,
}

/// The rules by which a GPU becomes unhealthy and healthy again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HealthPolicy {
    /// Whether GPUs are monitored.
    pub watch: bool,
    /// Critical Xid errors to ignore, in addition to those that are always ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_xids: Vec<u64>,
    /// The time without errors after which a recovered GPU is advertised again, in seconds. It doubles with each
    /// recurrence within a day. With `null`, an unhealthy GPU is advertised again only after a restart of the node.
    pub quiet_seconds: Option<u32>,
}

impl Default for HealthPolicy {
    fn default() -> Self {
        Self {
            watch: true,
            ignored_xids: Vec::new(),
            quiet_seconds: Some(60),
        }
    }
}

/// The destination of the node's labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LabelOutput {
    /// No labels are written.
    #[default]
    None,
    /// The Node object.
    Node,
    /// A file that Node Feature Discovery reads.
    FeatureFile {
        /// The file's path.
        path: String,
    },
}

/// The HTTP endpoints `/metrics`, `/healthz` and `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricsConfig {
    /// The port.
    pub port: u16,
    /// Whether GPU metrics are exported under the names of the NVIDIA DCGM exporter. `false` if that exporter runs as
    /// well, because sums would double.
    pub gpus: bool,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self {
            port: 9400,
            gpus: true,
        }
    }
}

/// The GPUs that the nodes of a pool have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedGpus {
    /// The GPU model's key in gpuc's catalog.
    pub model: String,
    /// The number of GPUs per node.
    pub count: u32,
}

/// The location of the driver's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    /// The root directory of the driver installation on the host: `/` or `/home/kubernetes/bin/nvidia`.
    pub host_root: String,
    /// The path of the same directory in the runtime's container.
    pub container_root: String,
}

/// The mechanism that injects devices into containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeviceInjection {
    /// The container runtime on the node reads `NVIDIA_VISIBLE_DEVICES`.
    EnvironmentVariable,
    /// The container runtime on the node reads the names of mounts below `/var/run/nvidia-container-devices`, which a
    /// pod cannot forge, unlike an environment variable (`accept-nvidia-visible-devices-as-volume-mounts`).
    VolumeMounts,
    /// The container runtime on the node reads CDI specs, which gpuc-runtime writes to this directory.
    Cdi {
        /// The directory, on the host and in the runtime's container.
        spec_dir: String,
        /// Whether CDI devices are passed in annotations, for a kubelet or container runtime without support for the
        /// CDI field of the device plugin API (before Kubernetes 1.29 or containerd 1.7).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        annotations: bool,
    },
    /// There is no NVIDIA container runtime: the kubelet passes device nodes and mounts the driver.
    DeviceNodes {
        /// The directory on the host that contains the driver's `bin` and `lib64`.
        driver_host_path: String,
        /// The path of that directory in containers.
        driver_container_path: String,
    },
}

/// How containers share GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodeSharing {
    /// Each GPU is allocated to one container at a time.
    Exclusive,
    /// Time-slicing.
    TimeSlicing {
        /// The number of replicas per GPU.
        replicas: u32,
        /// Whether replicas are advertised as `nvidia.com/gpu.shared`.
        rename: bool,
        /// Whether a request for more than one replica is rejected: two replicas can be on the same GPU and give no
        /// more compute.
        #[serde(default)]
        refuse_more_than_one: bool,
    },
    /// NVIDIA Multi-Process Service (MPS).
    Mps {
        /// The number of replicas per GPU.
        replicas: u32,
        /// Whether replicas are advertised as `nvidia.com/gpu.shared`.
        rename: bool,
        /// Whether a request for more than one replica is rejected: two replicas can be on the same GPU and give no
        /// more compute.
        #[serde(default)]
        refuse_more_than_one: bool,
        /// The directory on the host for the MPS control daemon's pipes, logs and shared memory.
        root: String,
    },
    /// Multi-Instance GPU (MIG).
    Mig {
        /// The resource names of MIG devices.
        strategy: MigStrategy,
        /// Whether the runtime partitions the GPUs. `false` if the cloud does it when it creates the node.
        apply: bool,
        /// The MIG devices of every GPU of a node, by index.
        gpus: Vec<MigGpu>,
    },
}

/// The MIG devices of one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MigGpu {
    /// The GPU's index on the node.
    pub index: u32,
    /// The MIG devices, in the order of their placements.
    pub slices: Vec<MigSlice>,
}

/// One MIG device and its placement, in memory slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MigSlice {
    /// The profile's name.
    pub profile: String,
    /// The first memory slice.
    pub start: u8,
    /// The number of memory slices.
    pub size: u8,
}
