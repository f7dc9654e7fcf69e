//! What the compiler hands to the runtime on the nodes of one pool: a JSON file in a ConfigMap.
//!
//! The compiler writes it, the runtime reads it, and neither knows the other. It has its own version, and an unknown
//! key is refused: a runtime that is older than its configuration says so instead of ignoring half of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The `apiVersion` of this format.
pub const API_VERSION: &str = "node.gpuc.dev/v1alpha1";

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
    /// How containers share GPUs.
    pub sharing: NodeSharing,
    /// The resources to advertise, and how many of each a node has when all is well.
    pub resources: BTreeMap<String, u32>,
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
    /// The container runtime on the node reads CDI specs, which the runtime writes to this folder.
    Cdi {
        /// The folder, on the host and in the runtime's container.
        spec_dir: String,
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
    },
    /// Containers run side by side through the Multi-Process Service.
    Mps {
        /// How many share one GPU.
        replicas: u32,
        /// Whether shares are called `nvidia.com/gpu.shared`.
        rename: bool,
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
