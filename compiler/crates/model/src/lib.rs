//! The resolved cluster: names are bound to facts, defaults are filled in, and derived values are computed.
//!
//! Every value that several parts of the output share is computed once, in [`resolve`], and read from
//! here: advertised resources, taints, tolerations, the number of GPUs.
//!
//! The traits that clouds and rules implement are here too. [`Registry`] lists the implementations.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

mod allocatable;
pub mod check;
mod claims;
pub mod cloud;
pub mod derive;
mod notebooks;
pub mod operator;
pub mod plan;
mod pool;
mod quantity;
mod queues;
mod quota_totals;
pub mod registry;
pub mod resolve;
mod resolved;
pub mod resource_groups;
pub mod scheduling;
mod sharing;
mod teams;
mod version;
mod volumes;
mod workloads;

pub use allocatable::{DaemonSetRequests, NodeCapacity, RUNTIME_REQUESTS};
pub use claims::{DeviceClass, DeviceKind};
pub use notebooks::{ExtendedResourceRequest, slug};
pub use operator::{DriverAccess, Operands};
pub use pool::{
    Label, MachineType, NodeRange, Pool, PoolGpus, PoolSettings, PoolSpec, PoolTaint, SetBy,
    Toleration,
};
pub use quantity::{Amounts, Quantity};
pub use queues::{DEFAULT_QUEUE, QUEUE_LABEL, TEAM_LABEL, topology_levels};
pub use quota_totals::QuotaTotal;
pub use registry::Registry;
pub use resolved::Resolved;
pub use resource_groups::{ResourceGroup, resource_groups};
pub use sharing::{AdvertisedResource, MigGpu, Sharing};
pub use teams::{
    CHART_NAMESPACES, ContainerLimits, Grant, NamespaceQuota, Quota, Team, TeamSettings, Unit,
};
pub use version::{KubernetesVersion, SUPPORTED};
pub use volumes::Unbound;
pub use workloads::{PodGpuRequest, WORKLOAD_LABEL, WORKLOADS_NAMESPACE};

use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, GpuCluster, NodePool};
use gpuc_syntax::node::DerivationReason;

use crate::cloud::Cloud;

/// The label of every node of a pool, with the name of the pool. Autoscalers know it before a node exists.
pub const POOL_LABEL: &str = "gpuc.dev/pool";

/// The label and taint of a dedicated pool.
pub const DEDICATED_TO: &str = "gpuc.dev/dedicated-to";

/// The label with which NVIDIA's chart selects the nodes for its MPS control daemon.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0
/// deployments/helm/nvidia-device-plugin/templates/daemonset-mps-control-daemon.yml, its `nodeSelector`.
pub const MPS_CAPABLE: &str = "nvidia.com/mps.capable";

/// The extended resource of a node's network devices for RDMA, named as in NVIDIA's and Azure's guides.
pub const RDMA_RESOURCE: &str = "rdma/hca_shared_devices_a";

/// The maximum number of pods that share the network devices of a node: as in NVIDIA's examples, more than the number
/// of GPUs of a node.
pub const RDMA_REPLICAS: u32 = 63;

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The configuration in the file. Pools and teams are read from the fields below.
    pub config: Arc<GpuCluster>,
    /// The name.
    pub name: Spanned<String>,
    /// The Kubernetes version.
    pub kubernetes: Resolved<Spanned<KubernetesVersion>>,
    /// The cloud.
    pub cloud: &'static dyn Cloud,
    /// The clouds and rules it is compiled with.
    pub registry: &'static Registry,
    /// The autoscaler.
    pub autoscaler: Spanned<Autoscaler>,
    /// The pools, in the order of the file.
    pub pools: Vec<Pool>,
    /// The teams, in the order of the file.
    pub teams: Vec<Team>,
    /// The default values that were filled in, for `gpuc expand`.
    pub defaulted_settings: Vec<DefaultedSetting>,
}

/// The value of a setting that the file does not contain, with its reason.
#[derive(Clone, Debug)]
pub struct DefaultedSetting {
    /// The path of keys and indexes: `nodePools`, `1`, `os`, `family`.
    pub path: Vec<String>,
    /// The value.
    pub value: serde_json::Value,
    /// The reason.
    pub source: DerivationReason,
    /// Whether the value was selected from several or is a sum, so that it is not a default of the file. gpuc can
    /// change a selection until it is written to the file.
    pub is_selected: bool,
}

impl Cluster {
    /// The pools with GPUs, without those whose GPUs are unresolved.
    pub fn gpu_pools(&self) -> impl Iterator<Item = (&Pool, &PoolGpus)> {
        self.pools
            .iter()
            .filter_map(|pool| Some((pool, pool.gpus.get()?.as_ref()?)))
    }

    /// The pools whose GPUs this device plugin advertises.
    pub fn pools_advertised_by(&self, plugin: DevicePlugin) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(move |pool| pool.is_advertised_by(plugin))
    }

    /// The pools whose GPUs are allocated through DRA.
    pub fn dra_pools(&self) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(|pool| pool.allocation.value == Allocation::Dra)
    }

    /// The settings of a pool exactly as they are in the file, for rules that report unused or contradictory settings.
    /// Everything else reads the resolved values of the pool.
    pub fn pool_in_file(&self, pool: &PoolSpec) -> &NodePool {
        &self.config.node_pools[pool.index]
    }

    /// The pool with this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name.value == name)
    }
}
