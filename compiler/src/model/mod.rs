//! The cluster as gpuc understands it: names bound to facts, defaults filled in, consequences drawn.
//!
//! Everything that several parts of the output must agree on is computed once, in [`resolve`](crate::resolve), and read
//! from here: what a pool offers, which taints its nodes have, what must tolerate them, how many GPUs there are.

mod allocatable;
mod claims;
mod groups;
mod known;
mod notebooks;
pub mod operator;
mod pool;
mod promises;
mod queues;
mod sharing;
mod teams;
mod version;
mod volumes;
mod workloads;

pub use allocatable::{Daemon, RUNTIME_ASKS, Room};
pub use claims::{Claimed, DeviceClass};
pub use groups::{Group, groups};
pub use known::Known;
pub use notebooks::{Devices, slug};
pub use operator::{Access, Operands};
pub use pool::{Label, MachineType, NodeRange, Pool, PoolGpus, PoolTaint, SetBy, Toleration};
pub use promises::Promise;
pub use queues::{QUEUE, QUEUE_LABEL, TEAM_LABEL, topology_levels};
pub use sharing::{MigGpu, Offer, Sharing};
pub use teams::{CHART_NAMESPACES, Grant, Team, Unit};
pub use version::{KubernetesVersion, SUPPORTED};
pub use volumes::Unbound;
pub use workloads::{GpuAsk, WORKLOAD_LABEL, WORKLOADS_NAMESPACE};

use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, GpuCluster};

use crate::cloud::Cloud;
use crate::node::Because;

/// The label that every node of a pool has, with the pool's name. Autoscalers know it before a node exists.
pub const POOL_LABEL: &str = "gpuc.dev/pool";

/// The label and taint of a pool that is for somebody.
pub const DEDICATED_TO: &str = "gpuc.dev/dedicated-to";

/// The label by which NVIDIA's chart picks the nodes for its MPS control daemon.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0
/// deployments/helm/nvidia-device-plugin/templates/daemonset-mps-control-daemon.yml, its `nodeSelector`.
pub const MPS_CAPABLE: &str = "nvidia.com/mps.capable";

/// What pods ask for to get a node's network cards for RDMA, in the words of NVIDIA's and Azure's guides.
pub const RDMA_RESOURCE: &str = "rdma/hca_shared_devices_a";

/// How many pods of a node may have them at once: as many as in NVIDIA's examples, more than a node has GPUs.
pub const RDMA_SHARES: u32 = 63;

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    /// What the user wrote.
    pub written: Arc<GpuCluster>,
    /// Its name.
    pub name: Spanned<String>,
    /// Its Kubernetes version.
    pub kubernetes: Known<Spanned<KubernetesVersion>>,
    /// The cloud it runs on.
    pub cloud: &'static dyn Cloud,
    /// Who adds and removes nodes.
    pub autoscaler: Spanned<Autoscaler>,
    /// Its pools, in the order they were written.
    pub pools: Vec<Pool>,
    /// Its teams, in the order they were written.
    pub teams: Vec<Team>,
    /// What was filled in, for `gpuc expand`.
    pub filled: Vec<Filled>,
}

/// A value that nobody wrote, and why it is what it is.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The keys and indexes that lead to it: `nodePools`, `1`, `os`, `family`.
    pub path: Vec<String>,
    /// The value.
    pub value: serde_json::Value,
    /// Why.
    pub because: Because,
    /// Whether it was picked among others, or adds up what was written: it is no part of the file. A pick is gpuc's to
    /// keep or to change as long as nobody writes it down.
    pub is_pick: bool,
}

impl Cluster {
    /// The pools with GPUs, as far as that is known.
    pub fn gpu_pools(&self) -> impl Iterator<Item = (&Pool, &PoolGpus)> {
        self.pools
            .iter()
            .filter_map(|pool| Some((pool, pool.gpus.get()?.as_ref()?)))
    }

    /// The pools whose GPUs this plugin advertises.
    pub fn pools_advertised_by(&self, plugin: DevicePlugin) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(move |pool| pool.is_advertised_by(plugin))
    }

    /// The pools whose GPUs pods claim: no device plugin advertises them.
    pub fn pools_claimed(&self) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(|pool| pool.allocation.value == Allocation::Dra)
    }

    /// The pool of this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name.value == name)
    }
}
