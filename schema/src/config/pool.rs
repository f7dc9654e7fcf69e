//! `nodePools`: groups of like nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Amounts, Empty, Gpudirect, Sharing, Stack, TextMap};
use crate::Spanned;

/// A group of like nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePool {
    /// The pool's name, in the cloud and in the node label `gpuc.dev/pool`.
    #[schemars(extend("examples" = ["train"]))]
    pub name: Spanned<String>,
    /// The machine type; the catalog knows its GPUs. Either this or `gpu` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["p5.48xlarge", "g2-standard-8", "Standard_NC24ads_A100_v4"]))]
    pub machine: Option<Spanned<String>>,
    /// The GPUs of a node. With `machine`, GPUs to attach to a machine type that has none of its own (GKE's N1);
    /// without, the catalog picks the smallest machine that has them; on premises, what the hosts have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Spanned<GpuRequest>>,
    /// How many nodes, over all zones.
    pub nodes: Spanned<NodeCount>,
    /// The zones nodes may be in. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["us-east-1a"]]))]
    pub zones: Vec<Spanned<String>>,
    /// The subnets nodes are in, by id. On EKS instead of `zones`, on AKS one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Spanned<String>>,
    /// The hosts of the pool, by node name. On premises, where they are the pool's nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["dgx-01", "dgx-02"]]))]
    pub hosts: Vec<Spanned<String>>,
    /// How the cloud is paid and bound to have the machines.
    #[serde(default)]
    pub capacity: Spanned<Capacity>,
    /// What the nodes' network must do.
    #[serde(default)]
    pub network: Network,
    /// The operating system.
    #[serde(default)]
    pub os: Os,
    /// The size of the boot disk in GiB, as far as the cloud makes them.
    #[serde(default = "disk", rename = "diskGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub disk_gib: Spanned<u32>,
    /// What becomes of the machine's own local disks. Default: `scratch` on GKE, `none` on
    /// EKS, and on AKS what AKS chooses: a boot disk on the temporary disk where it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_disks: Option<Spanned<LocalDisks>>,
    /// The most pods on a node. Default: the cloud's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 737))]
    pub max_pods: Option<Spanned<u32>>,
    /// The CPU and memory that a node has for pods, as `kubectl describe node` says under `Allocatable`. Workloads are
    /// held against it. Default: estimated from the machine type by what the cloud says it keeps; of hosts of your own
    /// and of node pools made by hand nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<Amounts>,
    /// How containers share the GPUs.
    #[serde(default)]
    pub sharing: Spanned<Sharing>,
    /// Whether teams may be promised more of the pool's GPUs than it has at its most nodes. Whoever comes first has
    /// them then.
    #[serde(default)]
    pub overcommit: Spanned<bool>,
    /// Labels on the nodes, beside those that gpuc and the cloud set.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub labels: TextMap,
    /// Taints on the nodes. Everything of gpuc's that must run there tolerates them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Spanned<Taint>>,
    /// Whom the pool is for. A label and a taint `gpuc.dev/dedicated-to` follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["research"]))]
    pub dedicated_to: Option<Spanned<String>>,
    /// Tags or resource labels on the cloud's resources of the pool, beside the cluster's.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
    /// How nodes are replaced when the pool is upgraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Spanned<Upgrade>>,
    /// The cloud puts a new node in the place of one that is broken. Default: `true` on GKE and AKS, which always do;
    /// `false` on EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_repair: Option<Spanned<bool>>,
    /// The pool was made by hand: gpuc emits no cloud commands for it, everything else applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Spanned<ExistingPool>>,
    /// What differs from the cluster's `stack`.
    #[serde(default)]
    pub stack: Stack,
}

/// The GPUs of a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuRequest {
    /// The card, by its key or alias in `gpuc catalog gpus`.
    #[schemars(extend("examples" = ["L4", "h100-sxm5-80gb"]))]
    pub model: Spanned<String>,
    /// How many on a node.
    #[schemars(range(min = 1, max = 16))]
    pub per_node: Spanned<u32>,
}

/// How many nodes: `count`, or `min` and `max`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeCount {
    /// A fixed number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<u32>>,
    /// The fewest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Spanned<u32>>,
    /// The most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max: Option<Spanned<u32>>,
}

/// How the cloud is paid and bound to have the machines.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Capacity {
    /// Asked for when needed, and perhaps refused.
    #[default]
    OnDemand,
    /// Cheaper machines that the cloud may take back.
    Spot(Spot),
    /// Capacity reserved beforehand.
    Reservation(Reservation),
    /// An EC2 Capacity Block: GPU machines for fixed days.
    CapacityBlock(CapacityBlock),
}

/// Cheaper machines that the cloud may take back.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spot {
    /// What happens to a machine that is taken back, on AKS. Default: `delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<Spanned<Eviction>>,
    /// The most to pay for an hour in US dollars, on AKS; -1 is the on-demand price. Default: -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price: Option<Spanned<f64>>,
}

/// What happens to a spot machine that is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Eviction {
    /// It is deleted with its disk.
    Delete,
    /// It is stopped; its disk and its quota stay taken.
    Deallocate,
}

/// Capacity reserved beforehand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reservation {
    /// The reservation: an EC2 capacity reservation's id, a Compute Engine reservation's name, or the resource id of an
    /// Azure capacity reservation group.
    #[schemars(extend("examples" = ["cr-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// How many machines it holds; the pool's `max` is checked against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<Spanned<u32>>,
}

/// An EC2 Capacity Block.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacityBlock {
    /// The reservation's id.
    #[schemars(regex(pattern = r"^cr-[0-9a-f]{8,17}$"), extend("examples" = ["cr-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// How many machines it holds; the pool's `max` is checked against it.
    #[schemars(range(min = 1))]
    pub count: Spanned<u32>,
}

/// What the nodes' network must do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Elastic Fabric Adapter on every interface that the machine has for it. On EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efa: Option<Spanned<Empty>>,
    /// GPUs that reach those of other machines past the CPU, over networks of their own: GPUDirect-TCPXO and -TCPX, on
    /// GKE. Pods of workloads on several nodes get them, with what NCCL needs; the pool's teams must be allowed folders
    /// and devices of nodes (`podSecurity: privileged`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpudirect: Option<Spanned<Gpudirect>>,
    /// Network cards of NVIDIA's that write into the memory of other nodes, offered to pods by the Network Operator. On
    /// premises, and `InfiniBand` on AKS. Pods that use them may pin memory (`IPC_LOCK`); Kubernetes gives capabilities
    /// to processes of root alone, so that with `runAs` the image's limits of pinned memory count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<Spanned<Rdma>>,
    /// Nodes close to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<Placement>>,
}

/// Network cards of NVIDIA's that write into the memory of other nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Rdma {
    /// Over `InfiniBand`.
    Infiniband(RdmaCards),
    /// Over Ethernet (`RoCE`).
    Roce(RdmaCards),
}

impl Rdma {
    /// The cards, whatever they speak.
    pub fn cards(&self) -> &RdmaCards {
        match self {
            Self::Infiniband(cards) | Self::Roce(cards) => cards,
        }
    }
}

/// The cards of a node.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RdmaCards {
    /// Who installs their driver. Default: `preinstalled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Spanned<RdmaDriver>>,
}

/// Who installs the driver of network cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RdmaDriver {
    /// The node image or the host has it; that of the Linux kernel will do.
    Preinstalled,
    /// The Network Operator, which replaces the one that is there by DOCA-OFED.
    Operator,
}

/// Nodes close to each other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// As close as the cloud can. On GKE; on EKS a cluster placement group that eksctl makes, with EFA.
    Compact,
    /// In this group: an EC2 placement group's name, a Compute Engine placement policy's name, or the resource id of an
    /// Azure proximity placement group.
    Group(Spanned<String>),
}

/// What becomes of a machine's own local disks. What is on them goes with the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LocalDisks {
    /// They are left alone. On EKS.
    None,
    /// Together they hold images, containers, logs and `emptyDir` volumes. On EKS with `AmazonLinux2023` and
    /// `Bottlerocket`, and on GKE.
    Scratch,
    /// They are there as block devices, for programs that format them. On GKE.
    Block,
    /// The temporary disk holds the node's boot disk, which is faster and costs nothing, and is new with each image.
    /// On AKS.
    Boot,
}

/// The operating system.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Os {
    /// The node image's family. Default: `AmazonLinux2023` on EKS, `ContainerOptimized` on GKE, `Ubuntu` on AKS,
    /// `Ubuntu2404` on premises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Spanned<OsFamily>>,
}

/// The family of a node image.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum OsFamily {
    /// Amazon Linux 2, on EKS up to 1.32.
    AmazonLinux2,
    /// Amazon Linux 2023, on EKS.
    AmazonLinux2023,
    /// Bottlerocket, on EKS; it advertises GPUs itself.
    Bottlerocket,
    /// Azure Linux, on AKS.
    AzureLinux,
    /// Container-Optimized OS with containerd, on GKE.
    ContainerOptimized,
    /// Ubuntu as the cloud has it for the Kubernetes version, on GKE and AKS.
    Ubuntu,
    /// Ubuntu 20.04, on EKS up to 1.29.
    Ubuntu2004,
    /// Ubuntu 22.04, on EKS, AKS and on premises.
    Ubuntu2204,
    /// Ubuntu 24.04, on EKS, AKS and on premises.
    Ubuntu2404,
    /// Debian 12, on premises.
    Debian12,
    /// Red Hat Enterprise Linux 9 or a rebuild of it, on premises.
    Rhel9,
}

/// A taint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// The key.
    #[schemars(extend("examples" = ["nvidia.com/gpu", "sku"]))]
    pub key: Spanned<String>,
    /// The value. GKE and AKS need one.
    #[serde(default)]
    #[schemars(extend("examples" = ["present", "gpu"]))]
    pub value: Spanned<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: Spanned<TaintEffect>,
}

/// What happens to pods that do not tolerate a taint.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TaintEffect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled there only when nothing else is left.
    PreferNoSchedule,
    /// They are not scheduled there, and those that run are evicted.
    NoExecute,
}

/// How nodes are replaced when a pool is upgraded.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upgrade {
    /// How many nodes more than the pool has may exist meanwhile. Default: 0 where capacity is reserved, which has none
    /// to spare; elsewhere the cloud's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<Spanned<u32>>,
    /// How many nodes may be missing meanwhile. Default: 1 where capacity is reserved, and on EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Spanned<u32>>,
}

/// A pool made by hand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPool {
    /// Labels that its nodes have and no others do.
    #[schemars(extend("examples" = [{"eks.amazonaws.com/nodegroup": "gpu-a"}]))]
    pub selector: TextMap,
}

fn disk() -> Spanned<u32> {
    Spanned::unwritten(100)
}
