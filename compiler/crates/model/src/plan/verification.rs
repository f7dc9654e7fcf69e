//! The checks of `verify.sh`.

use std::collections::BTreeMap;

/// The expected state of a pool, which `verify.sh` checks.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The pool.
    pub pool: String,
    /// The label selector of its nodes.
    pub selector: BTreeMap<String, String>,
    /// The minimum number of nodes.
    pub min_nodes: u32,
    /// The time outside of which no nodes are expected: its start and its end, in UTC.
    pub period: Option<(String, String)>,
    /// The taints that nodes must have although no script sets them, each as `key=value:Effect`.
    pub required_taints: Vec<String>,
    /// The allocatable GPU resources of a node.
    pub allocatable: BTreeMap<String, u32>,
    /// The devices of a node that are allocated through DRA.
    pub devices: Vec<ExpectedDevices>,
    /// Other allocatable resources of a node, such as network interfaces.
    pub interconnect: BTreeMap<String, u32>,
    /// The DaemonSets of this tree on its nodes, as namespace and name.
    pub daemon_sets: Vec<(String, String)>,
    /// The number of nodes between which `gpuc prove` proves the network of the GPUs, or one node for NVLink; `None`
    /// without such a network.
    pub fabric_nodes: Option<u32>,
    /// The tolerations of a test pod.
    pub tolerations: Vec<serde_json::Value>,
    /// The RuntimeClass of a test pod, if it needs one.
    pub runtime_class: Option<String>,
}

/// Expected devices in the ResourceSlices of a node.
#[derive(Clone, Debug)]
pub struct ExpectedDevices {
    /// The DeviceClass that selects them.
    pub class: String,
    /// The driver that publishes them.
    pub driver: String,
    /// Their attribute `type`.
    pub kind: &'static str,
    /// Their attribute `profile`, for MIG devices.
    pub profile: Option<&'static str>,
    /// The number of devices per node.
    pub per_node: u32,
    /// The extended resource under which pods request them without a claim, and the DeviceClass that has it.
    pub resource: Option<(String, String)>,
}
