//! What a tree's README says.

use crate::node::Node;

/// What the tree's README says.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// The cloud and place, in words.
    pub place: String,
    /// The Kubernetes version.
    pub kubernetes: String,
    /// The pools.
    pub pools: Vec<PoolSummary>,
    /// The teams.
    pub teams: Vec<TeamSummary>,
    /// What teams were promised, one thing of one pool after the other.
    pub promises: Vec<PromiseSummary>,
    /// The workloads of the file.
    pub workloads: Vec<WorkloadSummary>,
    /// How GPUs are watched, a sentence each; empty where they are not.
    pub monitoring: Vec<String>,
    /// What is to be known before it is applied, a sentence each.
    pub notes: Vec<String>,
}

/// Who advertises a pool's GPUs, as [`PoolSummary::plugin`] has it: NVIDIA's driver, by claims.
pub const ADVERTISED_BY_DRA: &str = "NVIDIA's driver for claims";
/// gpuc's own plugin, which is also the name of what brings it.
pub const ADVERTISED_BY_RUNTIME: &str = "gpuc-runtime";
/// NVIDIA's plugin, by its chart.
pub const ADVERTISED_BY_NVIDIA: &str = "NVIDIA's device plugin";
/// NVIDIA's plugin, by the operator.
pub const ADVERTISED_BY_OPERATOR: &str = "the NVIDIA GPU Operator";
/// What the cloud puts on its nodes.
pub const ADVERTISED_BY_CLOUD: &str = "the cloud";

/// A pool in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PoolSummary {
    /// Its name.
    pub name: String,
    /// Its machine, in words.
    pub machine: String,
    /// The family of its node image.
    pub image: String,
    /// Its GPUs, in words; empty without.
    pub gpus: String,
    /// How GPUs are shared, in words.
    pub sharing: String,
    /// Where the slices of a GPU lie, drawn.
    pub layout: Vec<String>,
    /// The fewest nodes.
    pub min_nodes: u32,
    /// The most nodes.
    pub max_nodes: u32,
    /// GPUs at the fewest nodes.
    pub min_gpus: u64,
    /// GPUs at the most nodes.
    pub max_gpus: u64,
    /// The CPU that a node has for pods, in words; empty where it is not known.
    pub cpu: String,
    /// The memory that a node has for pods, in words; empty where it is not known.
    pub memory: String,
    /// What it offers.
    pub resources: Vec<ResourceSummary>,
    /// What pods claim of it.
    pub classes: Vec<ClassSummary>,
    /// An example of a claim and of a pod that has it, each an object; nothing where pods claim nothing.
    #[serde(skip)]
    pub claim: Vec<Node>,
    /// Its taints, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// Who installs the driver, in words.
    pub driver: String,
    /// Who advertises the GPUs, in words.
    pub plugin: String,
}

/// A DeviceClass in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// What a device of it is, in words.
    pub device: String,
    /// How many on a node.
    pub per_node: u32,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
    /// What a quota calls them.
    pub quota: String,
    /// What a container may ask for instead of a claim; empty where Kubernetes makes none for it.
    pub extended: String,
}

/// A resource in words and numbers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ResourceSummary {
    /// Its name.
    pub name: String,
    /// How many on a node.
    pub per_node: u32,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
}

/// A team in words.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct TeamSummary {
    /// Its name.
    pub name: String,
    /// Its namespaces.
    pub namespaces: Vec<String>,
    /// Its members, each with a role.
    pub members: Vec<String>,
}

/// What teams were promised of one thing that a pool offers.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PromiseSummary {
    /// The pool.
    pub pool: String,
    /// What pods ask for.
    pub resource: String,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
    /// To whom, and all together.
    pub teams: Vec<PromisedSummary>,
}

/// How much somebody was promised.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PromisedSummary {
    /// The team, with the namespace where it has several; or all of them.
    pub name: String,
    /// How many are kept.
    pub guaranteed: u64,
    /// How many there may be.
    pub limit: u64,
}

/// A workload in words.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct WorkloadSummary {
    /// Its name.
    pub name: String,
    /// Whose it is; empty where it is nobody's.
    pub team: String,
    /// The namespace that it runs in.
    pub namespace: String,
    /// The key that says what it is: `trainJob`.
    pub kind: String,
    /// What each pod asks for, under the name that each pool has for it: `nvidia.com/gpu: 8`. Nothing without GPUs.
    pub asks: Vec<String>,
    /// The pools that hold its pods and that they are sent to.
    pub pools: Vec<String>,
}
