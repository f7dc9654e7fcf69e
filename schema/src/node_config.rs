//! What the compiler hands to the runtime on the nodes of one pool: a JSON file in a ConfigMap.
//!
//! The compiler writes it, the runtime reads it, and neither knows the other. It has its own version, and an unknown
//! key is refused: a runtime that is older than its configuration says so instead of ignoring half of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `apiVersion` of this format.
pub const API_VERSION: &str = "node.gpuc.dev/v1alpha1";

/// The key of the taint with which nodes register whose GPUs the runtime has to cut first, and which it takes off.
///
/// The Cluster Autoscaler, a cloud's own among them, takes a node with a taint that begins so for one that is about to
/// be ready, and leaves the taint out of its picture of nodes to come; no flag is needed (kubernetes/autoscaler,
/// cluster-autoscaler/FAQ.md, 2026-11).
pub const STARTUP_TAINT: &str = "startup-taint.cluster-autoscaler.kubernetes.io/gpuc";

/// The `kind` of this format.
pub const KIND: &str = "NodeConfig";

/// The runtime's configuration on the nodes of one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeConfig {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The cluster's name.
    pub cluster: String,
    /// The pool's name.
    pub pool: String,
    /// What the compiler knows the nodes to have. The runtime reports what differs.
    pub expected: ExpectedGpus,
    /// Where the driver's files are.
    pub driver: Driver,
    /// How a container gets its devices.
    pub devices: DeviceInjection,
    /// Whether the kubelet is given the device nodes as well, where the container runtime takes a variable or mounts:
    /// a container then keeps its GPUs when systemd or the kubelet's CPU manager rewrites its device rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pass_device_nodes: bool,
    /// How containers share GPUs.
    pub sharing: NodeSharing,
    /// The resources to advertise, and how many of each a node has when all is well.
    pub resources: BTreeMap<String, u32>,
    /// What containers get beside their GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<Extra>,
    /// Which shares go first where GPUs are shared or cut.
    #[serde(default)]
    pub placement: SharePlacement,
    /// What counts as ill, and when a GPU counts as well again.
    #[serde(default)]
    pub health: HealthPolicy,
    /// Where the node's labels are written.
    #[serde(default)]
    pub labels: LabelOutput,
    /// What can be asked for over HTTP.
    #[serde(default)]
    pub metrics: MetricsConfig,
    /// The key of the taint that keeps pods away from a node that is not ready; the runtime takes it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_taint: Option<String>,
}

/// What a container can get beside its GPUs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Extra {
    /// GDRCopy: copies between host and GPU memory with little delay.
    Gdrcopy,
    /// GPUDirect Storage: from disk or network file system into GPU memory.
    Gds,
    /// Mellanox network cards, for GPUDirect over InfiniBand or RoCE.
    Mofed,
    /// Memory of other nodes in an NVLink rack: IMEX channel 0.
    Imex,
}

/// Which shares go first where GPUs are shared or cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SharePlacement {
    /// The GPU with the fewest users: containers get in each other's way as little as can be.
    #[default]
    Distributed,
    /// The GPU with the most users that has room: whole GPUs stay free for as long as can be.
    Packed,
}

/// What counts as ill, and when a GPU counts as well again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthPolicy {
    /// Whether anything is watched.
    pub watch: bool,
    /// Critical errors, by NVIDIA's number, that count for nothing beside those that never do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_xids: Vec<u64>,
    /// How long a GPU has to be quiet and to answer well before it is offered again, in seconds; doubled with every
    /// time that it falls ill again within a day. Without it, a GPU that was ill is offered again after a restart of
    /// the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// Where the node's labels are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum LabelOutput {
    /// Nowhere.
    #[default]
    None,
    /// To the node itself.
    Node,
    /// To a file that Node Feature Discovery reads.
    FeatureFile {
        /// The file.
        path: String,
    },
}

/// What can be asked for over HTTP: `/metrics`, `/healthz` and `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricsConfig {
    /// The port.
    pub port: u16,
    /// Whether GPUs are measured under the names of NVIDIA's dcgm-exporter; not where that runs as well, which would
    /// double every sum.
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedGpus {
    /// The card's key in gpuc's catalog.
    pub model: String,
    /// How many on a node.
    pub count: u32,
}

/// Where the driver's files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Driver {
    /// The folder on the host below which the driver is installed: `/` or `/home/kubernetes/bin/nvidia`.
    pub host_root: String,
    /// The same folder as the runtime's container sees it.
    pub container_root: String,
}

/// How a container gets its devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum DeviceInjection {
    /// The container runtime on the node reads `NVIDIA_VISIBLE_DEVICES`.
    EnvironmentVariable,
    /// The container runtime on the node reads the names of mounts below `/var/run/nvidia-container-devices`, which a
    /// pod cannot forge as it can a variable (`accept-nvidia-visible-devices-as-volume-mounts`).
    VolumeMounts,
    /// The container runtime on the node reads CDI specs, which the runtime writes to this folder.
    Cdi {
        /// The folder, on the host and in the runtime's container.
        spec_dir: String,
        /// Whether containers name their devices in annotations, for a kubelet or container runtime that does not know
        /// the CDI field of the kubelet's API (before Kubernetes 1.29 or containerd 1.7).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        annotations: bool,
    },
    /// No NVIDIA container runtime is there: the kubelet passes device nodes and mounts the driver.
    DeviceNodes {
        /// The folder on the host that holds the driver's `bin` and `lib64`.
        driver_host_path: String,
        /// Where containers see that folder.
        driver_container_path: String,
    },
}

/// How containers share GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum NodeSharing {
    /// A GPU belongs to one container at a time.
    Exclusive,
    /// Containers take turns.
    TimeSlicing {
        /// How many share one GPU.
        replicas: u32,
        /// Whether shares are called `nvidia.com/gpu.shared`.
        rename: bool,
        /// Whether a request for more than one share is refused: two shares may be on one GPU and give no more of it.
        #[serde(default)]
        refuse_more_than_one: bool,
    },
    /// Containers run side by side through the Multi-Process Service.
    Mps {
        /// How many share one GPU.
        replicas: u32,
        /// Whether shares are called `nvidia.com/gpu.shared`.
        rename: bool,
        /// Whether a request for more than one share is refused: two shares may be on one GPU and give no more of it.
        #[serde(default)]
        refuse_more_than_one: bool,
        /// The folder on the host for the control daemon's pipes, logs and shared memory.
        root: String,
    },
    /// GPUs are cut into slices.
    Mig {
        /// `single` or `mixed`.
        strategy: String,
        /// Whether the runtime cuts the GPUs; not where the cloud does it when it makes the node.
        apply: bool,
        /// Every GPU of a node, by index.
        gpus: Vec<MigGpu>,
    },
}

/// The slices of one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigGpu {
    /// The GPU's index on the node.
    pub index: u32,
    /// Its slices, in the order of their places.
    pub slices: Vec<MigSlice>,
}

/// One slice and its place, in memory slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigSlice {
    /// The profile's name.
    pub profile: String,
    /// The first memory slice.
    pub start: u8,
    /// How many memory slices.
    pub size: u8,
}
