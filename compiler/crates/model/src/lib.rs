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
mod capacity_period;
pub mod check;
mod claims;
pub mod cloud;
mod cluster;
mod cluster_teams;
mod daemon_sets;
pub mod derive;
mod device_class;
mod extended_resources;
pub mod fabric;
mod gpu_labels;
pub mod ipv4_range;
pub mod metrics;
mod node_range;
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

pub use allocatable::{NodeCapacity, RUNTIME_REQUESTS};
pub use capacity_period::{CapacityPeriod, PeriodError};
pub use cluster::{Cluster, DefaultedSetting};
pub use daemon_sets::DaemonSetRequests;
pub use device_class::{DeviceClass, DeviceKind};
pub use gpu_labels::{GpuLabelWriter, is_gpu_label};
pub use node_range::NodeRange;
pub use notebooks::{ExtendedResourceRequest, slug};
pub use operator::{DriverAccess, Operands};
pub use pool::{
    Label, MachineType, Pool, PoolGpus, PoolSettings, PoolSpec, PoolTaint, SetBy, Toleration,
};
pub use quantity::{Amounts, Quantity};
pub use queues::{DEFAULT_QUEUE, QUEUE_LABEL, QueuedClaim, TEAM_LABEL, topology_levels};
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
