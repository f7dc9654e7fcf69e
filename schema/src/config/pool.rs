//! `nodePools`: groups of identical nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Amounts, Empty, Gpudirect, Sharing, Stack, TextMap};
use crate::Spanned;

/// A group of identical nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePool {
    /// The pool's name, in the cloud and in the node label `gpuc.dev/pool`.
    #[schemars(extend("examples" = ["train"]))]
    pub name: Spanned<String>,
    /// The machine type. gpuc's catalog contains its GPUs. Either `machine` or `gpu` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["p5.48xlarge", "g2-standard-8", "Standard_NC24ads_A100_v4"]))]
    pub machine: Option<Spanned<String>>,
    /// Other machine types that the cloud may create instead of `machine`, first choice first. On EKS. They have the
    /// same GPUs and architecture, and at least the CPUs and the memory of `machine`, for which gpuc plans pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["g6.2xlarge", "g6.4xlarge"]]))]
    pub alternative_machines: Vec<Spanned<String>>,
    /// The GPUs of a node. With `machine`: the GPUs to attach to a machine type without GPUs (N1 on GKE). Without
    /// `machine`: gpuc selects the smallest machine type with these GPUs. On premises: the GPUs of each host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Spanned<GpuRequest>>,
    /// The number of nodes, across all zones.
    pub nodes: Spanned<NodeCount>,
    /// The zones of the nodes. Default: the cluster's zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["us-east-1a"]]))]
    pub zones: Vec<Spanned<String>>,
    /// The IDs of the nodes' subnets. On EKS they replace `zones`; AKS supports one subnet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Spanned<String>>,
    /// The node names of the pool's hosts. On premises only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["dgx-01", "dgx-02"]]))]
    pub hosts: Vec<Spanned<String>>,
    /// The purchase option of the machines: on-demand, Spot or reserved.
    #[serde(default)]
    pub capacity: Spanned<Capacity>,
    /// High-performance networking of the nodes.
    #[serde(default)]
    pub network: Network,
    /// The operating system.
    #[serde(default)]
    pub os: Os,
    /// The release of the node image. On EKS. Default: a node group gets the newest release at its creation, and keeps
    /// it until the Kubernetes version changes; nodes of Karpenter get the release that gpuc pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_image: Option<Spanned<NodeImage>>,
    /// The size of the boot disk in GiB, if the cloud creates the disk.
    #[serde(default = "disk", rename = "diskGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub disk_gib: Spanned<u32>,
    /// The use of the machine's local disks. Default: `scratch` on GKE, `none` on EKS. On AKS, AKS selects: it places
    /// the boot disk on the temporary disk if it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_disks: Option<Spanned<LocalDisks>>,
    /// The maximum number of pods on a node. Default: the cloud's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 737))]
    pub max_pods: Option<Spanned<u32>>,
    /// The CPU and memory that a node has for pods, as shown by `kubectl describe node` under `Allocatable`. gpuc
    /// checks workloads against it. Default: estimated from the machine type and the cloud's documented reservations.
    /// For on-premises hosts and existing node pools there is no default, and gpuc does not check them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<Amounts>,
    /// How containers share the GPUs.
    #[serde(default)]
    pub sharing: Spanned<Sharing>,
    /// Whether the quotas guaranteed to teams may exceed the pool's GPUs at its maximum number of nodes. Teams then get
    /// GPUs on a first-come, first-served basis.
    #[serde(default)]
    pub overcommit: Spanned<bool>,
    /// Labels on the nodes, in addition to those that gpuc and the cloud set.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub labels: TextMap,
    /// Taints on the nodes. Every component of gpuc that must run on the nodes tolerates them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Spanned<Taint>>,
    /// The team or group that the pool is dedicated to. gpuc adds the label and the taint `gpuc.dev/dedicated-to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["research"]))]
    pub dedicated_to: Option<Spanned<String>>,
    /// Tags or resource labels on the pool's cloud resources, in addition to the cluster's.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
    /// How nodes are replaced during an upgrade of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Spanned<Upgrade>>,
    /// Whether the cloud replaces unhealthy nodes. Default: `true` on GKE and AKS, where it cannot be turned off;
    /// `false` on EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_repair: Option<Spanned<bool>>,
    /// Marks a pool that was created outside gpuc. gpuc generates no cloud commands for it; everything else applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Spanned<ExistingPool>>,
    /// Overrides of the cluster's `stack`.
    #[serde(default)]
    pub stack: Stack,
}

/// The GPUs of a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuRequest {
    /// The GPU model, by its key or alias in `gpuc catalog gpus`.
    #[schemars(extend("examples" = ["L4", "h100-sxm5-80gb"]))]
    pub model: Spanned<String>,
    /// The number of GPUs per node.
    #[schemars(range(min = 1, max = 16))]
    pub per_node: Spanned<u32>,
}

/// The number of nodes: `count`, or `min` and `max` with an optional `initial`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeCount {
    /// A fixed number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<u32>>,
    /// The minimum number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Spanned<u32>>,
    /// The maximum number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max: Option<Spanned<u32>>,
    /// The number of nodes that the cloud creates the pool with, from `min` to `max`. It applies only at the creation:
    /// afterwards the autoscaler sets the number. Default: `min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Spanned<u32>>,
}

/// The purchase option of the machines: on-demand, Spot or reserved.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Capacity {
    /// Machines requested on demand. The cloud can be out of capacity.
    #[default]
    OnDemand,
    /// Spot machines: cheaper, but the cloud can reclaim them.
    Spot(Spot),
    /// A capacity reservation.
    Reservation(Reservation),
    /// An EC2 Capacity Block: GPU machines reserved for fixed days.
    CapacityBlock(CapacityBlock),
    /// Flex-start machines of Google's Dynamic Workload Scheduler: GPUs for up to seven days, created when they are
    /// available. On GKE.
    FlexStart(FlexStart),
}

impl Capacity {
    /// The key of the kind in the file.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::OnDemand => "onDemand",
            Self::Spot(_) => "spot",
            Self::Reservation(_) => "reservation",
            Self::CapacityBlock(_) => "capacityBlock",
            Self::FlexStart(_) => "flexStart",
        }
    }
}

/// Spot machines: cheaper, but the cloud can reclaim them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spot {
    /// The eviction policy of reclaimed machines. On AKS. Default: `delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<Spanned<Eviction>>,
    /// The maximum price per hour in US dollars. On AKS. -1 is the on-demand price. Default: -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price: Option<Spanned<f64>>,
}

/// The eviction policy of reclaimed Spot machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Eviction {
    /// The machine and its disk are deleted.
    Delete,
    /// The machine is stopped. Its disk still exists, and it still counts against your quota.
    Deallocate,
}

/// A capacity reservation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reservation {
    /// The reservation: the ID of an EC2 Capacity Reservation, the name of a Compute Engine reservation, or the
    /// resource ID of an Azure capacity reservation group.
    #[schemars(extend("examples" = ["cr-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// The number of machines in the reservation. gpuc checks the pool's `max` against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<Spanned<u32>>,
}

/// An EC2 Capacity Block.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacityBlock {
    /// The ID of the reservation.
    #[schemars(regex(pattern = r"^cr-[0-9a-f]{8,17}$"), extend("examples" = ["cr-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// The number of machines in the reservation. gpuc checks the pool's `max` against it.
    #[schemars(range(min = 1))]
    pub count: Spanned<u32>,
    /// The time at which the block starts, in UTC. Until then, the node group has no nodes.
    #[schemars(extend("examples" = ["2026-12-01T11:30:00Z"]))]
    pub start: Spanned<String>,
    /// The time at which the block ends, in UTC. 40 minutes before it, EKS deletes the nodes.
    #[schemars(extend("examples" = ["2026-12-15T11:30:00Z"]))]
    pub end: Spanned<String>,
}

/// Flex-start machines of Google's Dynamic Workload Scheduler.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlexStart {
    /// The time after which GKE deletes a node, in seconds or hours, at most seven days. Default: seven days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[1-9][0-9]*[sh]$"), extend("examples" = ["24h", "5400s"]))]
    pub max_run_duration: Option<Spanned<String>>,
    /// Whether nodes are created only for a ProvisioningRequest, all nodes of a workload at once. With
    /// `queueing: kueue`, Kueue creates it before it admits a workload. Otherwise, you create it.
    #[serde(default)]
    pub queued: Spanned<bool>,
}

/// High-performance networking of the nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Elastic Fabric Adapter (EFA) on every network interface of the machine that supports it. On EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efa: Option<Spanned<Empty>>,
    /// GPUDirect: GPUs communicate with GPUs on other nodes over dedicated networks, without the CPU. On GKE, with the
    /// technology of the machine type: TCPX, TCPXO or RDMA. gpuc configures pods of multi-node workloads for it,
    /// including the NCCL settings. Teams that use the pool need `podSecurity: privileged`, because these pods use
    /// `hostPath` volumes and devices of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpudirect: Option<Spanned<Gpudirect>>,
    /// RDMA network adapters from NVIDIA, advertised to pods by the Network Operator. On premises, and InfiniBand on
    /// AKS. Pods that use them get the capability `IPC_LOCK` to pin memory. Kubernetes grants capabilities only to root
    /// processes; with `runAs`, the image's limit on locked memory applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<Spanned<Rdma>>,
    /// NVLink between the GPUs of a rack, for GB200 and GB300. Each workload on several nodes gets a ComputeDomain, in
    /// which NVIDIA's DRA driver connects the nodes of its pods through IMEX; the device plugin still allocates the
    /// GPUs. Hosts on premises need the package `nvidia-imex`, with its service masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_domains: Option<Spanned<Empty>>,
    /// Placement of nodes close to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<Placement>>,
}

/// RDMA network adapters from NVIDIA.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Rdma {
    /// RDMA over InfiniBand.
    Infiniband(RdmaCards),
    /// RDMA over Converged Ethernet (RoCE). Pods also need the network interfaces of the adapters, which gpuc does not
    /// configure: set `hostNetwork: true` in the `podPatch` of multi-node workloads.
    Roce(RdmaCards),
}

impl Rdma {
    /// The settings of the adapters, independent of the link type.
    pub fn adapters(&self) -> &RdmaCards {
        match self {
            Self::Infiniband(adapters) | Self::Roce(adapters) => adapters,
        }
    }
}

/// The RDMA network adapters of a node.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RdmaCards {
    /// The component that installs the adapters' driver. Default: `preinstalled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Spanned<RdmaDriver>>,
}

/// The component that installs the driver of the network adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RdmaDriver {
    /// The node image or the host includes the driver. The driver of the Linux kernel is sufficient.
    Preinstalled,
    /// The Network Operator, which replaces the existing driver with DOCA-OFED.
    Operator,
}

/// Placement of nodes close to each other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Compact placement. On GKE, and on EKS with EFA, where eksctl creates a cluster placement group.
    Compact,
    /// An existing group: the name of an EC2 placement group, the name of a Compute Engine placement policy, or the
    /// resource ID of an Azure proximity placement group.
    Group(Spanned<String>),
}

/// The use of a machine's local disks. Their data is lost when the machine is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LocalDisks {
    /// The disks are not used. On EKS.
    None,
    /// The disks together store images, containers, logs and `emptyDir` volumes. On GKE, and on EKS with
    /// `AmazonLinux2023` and `Bottlerocket`.
    Scratch,
    /// The disks are raw block devices, for programs that format them. On GKE.
    Block,
    /// An ephemeral OS disk: the boot disk is on the temporary disk. It is faster, free of charge, and recreated with
    /// each node image. On AKS.
    Boot,
}

/// The operating system.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Os {
    /// The family of the node image. Default: `AmazonLinux2023` on EKS, `ContainerOptimized` on GKE, `Ubuntu` on AKS,
    /// `Ubuntu2404` on premises, `ProviderDefault` in existing clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Spanned<OsFamily>>,
}

/// The family of a node image.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum OsFamily {
    /// Amazon Linux 2, on EKS up to Kubernetes 1.32.
    AmazonLinux2,
    /// Amazon Linux 2023, on EKS.
    AmazonLinux2023,
    /// Bottlerocket, on EKS; it advertises GPUs itself.
    Bottlerocket,
    /// Azure Linux, on AKS.
    AzureLinux,
    /// Container-Optimized OS with containerd, on GKE.
    ContainerOptimized,
    /// The Ubuntu release that the cloud uses for the Kubernetes version, on GKE and AKS.
    Ubuntu,
    /// Ubuntu 20.04, on EKS up to Kubernetes 1.29.
    Ubuntu2004,
    /// Ubuntu 22.04, on EKS, AKS and on premises.
    Ubuntu2204,
    /// Ubuntu 24.04, on EKS, AKS and on premises.
    Ubuntu2404,
    /// Debian 12, on premises.
    Debian12,
    /// Red Hat Enterprise Linux 9 or a compatible distribution, on premises.
    Rhel9,
    /// The operating system that the provider of an existing cluster selects.
    ProviderDefault,
}

/// The release of a node image.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NodeImage {
    /// This release. The name depends on the image: for node groups `1.36.2-20261101` (Amazon Linux) or
    /// `1.66.0-7b8c9d0e` (Bottlerocket), for nodes of Karpenter `v20261101` or `v1.66.0`.
    #[schemars(extend("examples" = ["1.36.2-20261101"]))]
    Version(Spanned<String>),
    /// The release that a channel currently has.
    Channel(Spanned<NodeImageChannel>),
}

/// A channel of releases of a node image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NodeImageChannel {
    /// The newest release. `apply.sh` reports a newer one, and `apply.sh --allow-disruption` replaces the nodes.
    /// Karpenter replaces nodes by itself.
    Latest,
}

/// A taint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// The taint's key.
    #[schemars(extend("examples" = ["nvidia.com/gpu", "sku"]))]
    pub key: Spanned<String>,
    /// The taint's value. Required on GKE and AKS.
    #[serde(default)]
    #[schemars(extend("examples" = ["present", "gpu"]))]
    pub value: Spanned<String>,
    /// The effect on pods that do not tolerate the taint.
    pub effect: Spanned<TaintEffect>,
}

/// The effect of a taint on pods that do not tolerate it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TaintEffect {
    /// The pods are not scheduled on the node.
    NoSchedule,
    /// The pods are scheduled on the node only if no other node fits.
    PreferNoSchedule,
    /// The pods are not scheduled on the node, and running pods are evicted.
    NoExecute,
}

impl TaintEffect {
    /// The name of the effect in Kubernetes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// How nodes are replaced during an upgrade of a pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upgrade {
    /// The maximum number of additional nodes during an upgrade. Default: 0 with reserved capacity, otherwise the
    /// cloud's default: 1 on GKE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<Spanned<u32>>,
    /// The maximum number of unavailable nodes during an upgrade. Default: 1 with reserved capacity, and on EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Spanned<u32>>,
    /// Blue-green upgrades instead of surge upgrades. GKE only, without `maxSurge` and `maxUnavailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_green: Option<Spanned<BlueGreen>>,
}

/// Blue-green upgrades of GKE. GKE creates as many new nodes as the pool has, which requires twice the machines and the
/// quota. It cordons the old nodes and drains them in batches, so that evicted pods start on new nodes only. It deletes
/// the old nodes, and the pods that still run there, after the soak time. Until then, the upgrade can be rolled back.
// Source: https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies, read 2026-11-24.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlueGreen {
    /// The time between the drain of the last batch and the deletion of the old nodes, in minutes. GKE deletes them
    /// after seven days (10080 minutes) of soak time in total.
    #[serde(default = "soak_minutes")]
    #[schemars(range(max = 10080))]
    pub soak_minutes: Spanned<u32>,
    /// The number of old nodes that GKE drains at a time. With 0, GKE drains none: their pods run until the soak time
    /// ends. Default: 1, if `batchPercent` is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub batch_nodes: Option<Spanned<u32>>,
    /// The percentage of the old nodes that GKE drains at a time, instead of `batchNodes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub batch_percent: Option<Spanned<u32>>,
    /// The soak time after each batch, in minutes.
    #[serde(default)]
    #[schemars(range(max = 10080))]
    pub batch_soak_minutes: Spanned<u32>,
}

/// An existing pool, created outside gpuc.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPool {
    /// Labels that all nodes of the pool have and no other node has.
    #[schemars(extend("examples" = [{"eks.amazonaws.com/nodegroup": "gpu-a"}]))]
    pub selector: TextMap,
}

fn soak_minutes() -> Spanned<u32> {
    Spanned::without_span(60)
}

fn disk() -> Spanned<u32> {
    Spanned::without_span(100)
}
