//! The contents of a tree's README.

use gpuc_syntax::node::Node;

/// The contents of a tree's README.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// The cloud and the location.
    pub location: String,
    /// The Kubernetes version.
    pub kubernetes: String,
    /// The pools.
    pub pools: Vec<PoolSummary>,
    /// The teams.
    pub teams: Vec<TeamSummary>,
    /// The quotas of teams, by pool and resource.
    pub quotas: Vec<QuotaTotalSummary>,
    /// The workloads of the file.
    pub workloads: Vec<WorkloadSummary>,
    /// How GPUs are monitored, one sentence each; empty without monitoring.
    pub monitoring: Vec<String>,
    /// Notes to read before deploying, one sentence each.
    pub notes: Vec<String>,
}

/// A value of [`PoolSummary::plugin`]: GPUs are allocated through DRA.
pub const ADVERTISED_BY_DRA: &str = "NVIDIA DRA driver";
/// gpuc's device plugin, which is also the name of its component.
pub const ADVERTISED_BY_RUNTIME: &str = "gpuc-runtime";
/// NVIDIA's device plugin, deployed by its chart.
pub const ADVERTISED_BY_NVIDIA: &str = "NVIDIA's device plugin";
/// NVIDIA's device plugin, deployed by the GPU Operator.
pub const ADVERTISED_BY_OPERATOR: &str = "the NVIDIA GPU Operator";
/// The device plugin of the cloud.
pub const ADVERTISED_BY_CLOUD: &str = "the cloud";

/// The summary of a pool.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PoolSummary {
    /// Its name.
    pub name: String,
    /// Its machine type.
    pub machine: String,
    /// The family of its node image.
    pub image: String,
    /// Its GPUs per node; empty without GPUs.
    pub gpus: String,
    /// How GPUs are shared.
    pub sharing: String,
    /// A drawing of the placement of the MIG devices on each GPU.
    pub layout: Vec<String>,
    /// The minimum number of nodes.
    pub min_nodes: u32,
    /// The maximum number of nodes.
    pub max_nodes: u32,
    /// The number of GPUs at the minimum number of nodes.
    pub min_gpus: u64,
    /// The number of GPUs at the maximum number of nodes.
    pub max_gpus: u64,
    /// The allocatable CPU of a node; empty if unknown.
    pub cpu: String,
    /// The allocatable memory of a node; empty if unknown.
    pub memory: String,
    /// The resources that its nodes advertise.
    pub resources: Vec<ResourceSummary>,
    /// Its devices that are allocated through DRA.
    pub classes: Vec<DeviceClassSummary>,
    /// The objects of an example: a ResourceClaim and a pod that uses it; empty without DRA.
    #[serde(skip)]
    pub claim: Vec<Node>,
    /// Its taints, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// The installer of the driver.
    pub driver: String,
    /// The component that advertises the GPUs.
    pub plugin: String,
}

/// The summary of a DeviceClass.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct DeviceClassSummary {
    /// Its name.
    pub name: String,
    /// A description of a device.
    pub device: String,
    /// The number of devices per node.
    pub per_node: u32,
    /// The number at the minimum number of nodes.
    pub min: u64,
    /// The number at the maximum number of nodes.
    pub max: u64,
    /// The resource name in a quota.
    pub quota: String,
    /// The extended resource that a device plugin would advertise, if the pool has `extendedResources`, or empty.
    pub resource: String,
    /// The extended resource of the class's name, which a container can request too; empty if there is none.
    pub extended: String,
}

/// The summary of a resource.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ResourceSummary {
    /// Its name.
    pub name: String,
    /// The number per node.
    pub per_node: u32,
    /// The number at the minimum number of nodes.
    pub min: u64,
    /// The number at the maximum number of nodes.
    pub max: u64,
}

/// The summary of a team.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct TeamSummary {
    /// Its name.
    pub name: String,
    /// Its namespaces.
    pub namespaces: Vec<String>,
    /// Its members, each with a role.
    pub members: Vec<String>,
}

/// The quotas of teams for one resource of a pool.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct QuotaTotalSummary {
    /// The pool.
    pub pool: String,
    /// The resource that pods request.
    pub resource: String,
    /// The number at the minimum number of nodes.
    pub min: u64,
    /// The number at the maximum number of nodes.
    pub max: u64,
    /// The quota of each team, and the total.
    pub teams: Vec<TeamQuotaSummary>,
}

/// The quota of a team.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct TeamQuotaSummary {
    /// The team, with the namespace if it has several; or the total.
    pub name: String,
    /// The guaranteed number.
    pub guaranteed: u64,
    /// The limit.
    pub limit: u64,
}

/// The summary of a workload.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct WorkloadSummary {
    /// Its name.
    pub name: String,
    /// Its team; empty without one.
    pub team: String,
    /// Its namespace.
    pub namespace: String,
    /// Its kind, by key in the file: `trainJob`.
    pub kind: String,
    /// The GPU requests of each pod, by the resource name of each pool: `nvidia.com/gpu: 8`. Empty without GPUs.
    pub gpu_requests: Vec<String>,
    /// The pools that its pods can be scheduled to.
    pub pools: Vec<String>,
}
