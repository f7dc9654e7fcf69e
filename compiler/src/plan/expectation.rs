//! What `verify.sh` looks for.

use std::collections::BTreeMap;

/// Something that `verify.sh` looks for in the cluster.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The pool.
    pub pool: String,
    /// The label selector of its nodes.
    pub selector: BTreeMap<String, String>,
    /// The fewest nodes.
    pub min_nodes: u32,
    /// How many of each GPU resource a node has.
    pub allocatable: BTreeMap<String, u32>,
    /// What pods claim of a node.
    pub devices: Vec<ExpectedDevices>,
    /// How many of each other resource a node has, such as network interfaces.
    pub fabric: BTreeMap<String, u32>,
    /// The DaemonSets of this tree that serve it, as namespace and name.
    pub daemon_sets: Vec<(String, String)>,
    /// What a test pod tolerates, as Kubernetes writes it.
    pub tolerations: Vec<serde_json::Value>,
    /// The runtime class of a test pod, where it needs one.
    pub runtime_class: Option<String>,
}

/// Devices that the ResourceSlices of a node describe.
#[derive(Clone, Debug)]
pub struct ExpectedDevices {
    /// The class that takes them.
    pub class: String,
    /// The driver that describes them.
    pub driver: String,
    /// Their attribute `type`.
    pub kind: &'static str,
    /// Their attribute `profile`, for slices of a GPU.
    pub profile: Option<&'static str>,
    /// How many a node has.
    pub per_node: u32,
}
