//! The network between the GPUs of a pool, and the bandwidth that it must have.
//!
//! The clouds list the bandwidth of their machines
//! ([`bandwidth_floors`](crate::cloud::NodeFacts::bandwidth_floors)); the bandwidth inside a node depends on the GPUs
//! only and is listed here.

use gpuc_schema::config::{Extra, Rdma};
use gpuc_schema::gpu::{GpuModel, NVLINK_BENCHMARK_MODEL};

use crate::{Cluster, MachineType, Pool, PoolGpus};

/// A network over which GPUs exchange data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fabric {
    /// Elastic Fabric Adapter, on EKS.
    Efa,
    /// GPUDirect-TCPX, on GKE with A3 High.
    TcpX,
    /// GPUDirect-TCPXO, on GKE with A3 Mega.
    TcpXo,
    /// gIB: RDMA over RoCE with Google's NCCL plugin, on GKE from A3 Ultra on.
    Gib,
    /// RDMA over InfiniBand.
    InfiniBand,
    /// RDMA over Converged Ethernet.
    Roce,
    /// NVLink between the GPUs of one node.
    NvLink,
    /// NVLink between the GPUs of several nodes.
    Mnnvl,
}

impl Fabric {
    /// All fabrics.
    pub const ALL: &[Self] = &[
        Self::Efa,
        Self::TcpX,
        Self::TcpXo,
        Self::Gib,
        Self::InfiniBand,
        Self::Roce,
        Self::NvLink,
        Self::Mnnvl,
    ];

    /// The stable name in output and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Efa => "efa",
            Self::TcpX => "tcpx",
            Self::TcpXo => "tcpxo",
            Self::Gib => "gib",
            Self::InfiniBand => "infiniband",
            Self::Roce => "roce",
            Self::NvLink => "nvlink",
            Self::Mnnvl => "mnnvl",
        }
    }

    /// The name in messages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Efa => "EFA",
            Self::TcpX => "GPUDirect-TCPX",
            Self::TcpXo => "GPUDirect-TCPXO",
            Self::Gib => "gIB",
            Self::InfiniBand => "InfiniBand",
            Self::Roce => "RoCE",
            Self::NvLink => "NVLink",
            Self::Mnnvl => "multi-node NVLink",
        }
    }

    /// The fabric with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }

    /// Whether it connects nodes.
    pub const fn connects_nodes(self) -> bool {
        !matches!(self, Self::NvLink)
    }

    /// The value of `NCCL_NET` with which NCCL uses this network or fails. `None` if data does not pass through a
    /// network plugin, or if no source documents the value.
    ///
    /// Sources, read 2026-11-28: SemiAnalysisAI/InferenceX pull request 2979 for EFA, whose plugin accepts the value
    /// since its first release and takes it as its name (aws/aws-ofi-nccl `src/nccl_ofi_interface_nvidia.cpp`);
    /// GoogleCloudPlatform/cluster-toolkit `examples/gke-a3-ultragpu` for gIB; NVIDIA/nccl `src/transport/net_ib.cc`,
    /// where the network is called `IB` for both link layers.
    pub const fn nccl_net(self) -> Option<&'static str> {
        match self {
            Self::Efa => Some("AWS Libfabric"),
            Self::Gib => Some("gIB"),
            Self::InfiniBand | Self::Roce => Some("IB"),
            Self::TcpX | Self::TcpXo | Self::NvLink | Self::Mnnvl => None,
        }
    }
}

/// The measured communication pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Every rank gets the sum of the data of all ranks.
    AllReduce,
    /// Every rank gets the data of all ranks.
    AllGather,
}

impl Collective {
    /// The name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
        }
    }
}

/// The bandwidth of a fabric between machines of a type.
///
/// Figures are valid for their collective, number of nodes and message sizes only, and are never scaled to others.
#[derive(Debug)]
pub struct BandwidthFloor {
    /// The machine type, or the key of the GPU model for NVLink inside a node.
    pub machine: &'static str,
    /// The fabric.
    pub fabric: Fabric,
    /// The collective.
    pub collective: Collective,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of GPUs of each node.
    pub gpus_per_node: u32,
    /// The smallest message in bytes for which the floor is valid.
    pub min_bytes: u64,
    /// The lowest bus bandwidth in GB/s with which the fabric works, if a source requires one.
    pub gigabytes_per_second: Option<f64>,
    /// The bus bandwidth that was measured elsewhere, with its unit and size, for comparison.
    pub measured: Option<&'static str>,
    /// The source, with its date.
    pub source: &'static str,
}

/// A gibibyte, in bytes.
pub const GIB: u64 = 1 << 30;

/// NVLink inside a node.
///
/// The facts were collected 2026-11-28. The floor is the default of a check before jobs, for any machine with NVLink;
/// it is listed only for GPUs for which a measurement exists.
static NVLINK_FLOORS: &[BandwidthFloor] = &[BandwidthFloor {
    machine: NVLINK_BENCHMARK_MODEL,
    fabric: Fabric::NvLink,
    collective: Collective::AllReduce,
    nodes: 1,
    gpus_per_node: 8,
    min_bytes: GIB,
    gigabytes_per_second: Some(150.0),
    measured: Some("476 to 480 GB/s with NVLink SHARP, about 370 GB/s with rings"),
    source: "NVIDIA/NVSentinel, defaults of the preflight check of NVLink, 2026-11-28; measured: NVIDIA/nccl-tests \
             issues 290 and 212",
}];

/// Why a pool has no fabric to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoFabric {
    /// The reason: a sentence without a full stop.
    pub reason: String,
    /// What the user can do.
    pub help: String,
}

/// The fabric over which the GPUs of a number of nodes of a pool communicate.
///
/// NVLink between nodes precedes other networks, because NCCL prefers it.
///
/// # Errors
///
/// The pool has no GPUs, or its nodes are connected by the plain network only.
pub fn pool_fabric(cluster: &Cluster, pool: &Pool, nodes: u32) -> Result<Fabric, NoFabric> {
    let name = &pool.name.value;
    let Some(Some(gpus)) = pool.gpus.get() else {
        return Err(NoFabric {
            reason: format!("the nodes of pool `{name}` have no GPUs"),
            help: "select a pool with GPUs".to_owned(),
        });
    };
    let nvlink = nvlink(gpus);
    if nodes <= 1 {
        return match nvlink {
            NvLink::Present => Ok(Fabric::NvLink),
            NvLink::OneGpu => Err(NoFabric {
                reason: format!(
                    "a node of pool `{name}` has one GPU, which communicates with no other GPU"
                ),
                help: "prove several nodes, or prove the GPU with `--gpu 2`".to_owned(),
            }),
            NvLink::Unknown => Err(NoFabric {
                reason: format!(
                    "NVLink is not known to connect the GPUs of a node of pool `{name}`"
                ),
                help: "prove the GPUs with `--gpu 2`".to_owned(),
            }),
        };
    }
    let uses_imex = pool.extras.iter().any(|extra| extra.value == Extra::Imex)
        || pool.settings.network.compute_domains.is_some();
    if gpus.model.has_multi_node_nvlink() && uses_imex {
        return Ok(Fabric::Mnnvl);
    }
    match pool.settings.network.rdma.as_ref().map(|it| &it.value) {
        Some(Rdma::Infiniband(_)) => return Ok(Fabric::InfiniBand),
        Some(Rdma::Roce(_)) => return Ok(Fabric::Roce),
        None => {}
    }
    cluster.cloud.network_fabric(pool).ok_or_else(|| NoFabric {
        reason: format!("the nodes of pool `{name}` are connected by the plain network only"),
        help: match nvlink {
            NvLink::Present => "configure `network` in the pool, or prove one node: `--nodes 1`",
            NvLink::OneGpu | NvLink::Unknown => "configure `network` in the pool",
        }
        .to_owned(),
    })
}

/// The row for a fabric between a number of nodes of a pool whose pods use all GPUs, if there is one.
pub fn pool_bandwidth(
    cluster: &Cluster,
    pool: &Pool,
    fabric: Fabric,
    nodes: u32,
) -> Option<&'static BandwidthFloor> {
    let gpus = pool.gpus.get()?.as_ref()?;
    let (rows, name) = match (fabric, pool.machine.get()) {
        (Fabric::NvLink, _) => (NVLINK_FLOORS, gpus.model.key),
        (_, Some(MachineType::Catalog(machine))) => {
            (cluster.cloud.bandwidth_floors(), machine.name)
        }
        _ => return None,
    };
    rows.iter().find(|row| {
        row.machine == name
            && row.fabric == fabric
            && row.nodes == nodes
            && row.gpus_per_node == gpus.per_node
    })
}

/// Whether NVLink connects the GPUs of a node.
enum NvLink {
    Present,
    OneGpu,
    Unknown,
}

/// SXM modules are connected by NVLink, and so are the GPUs of NVL72 systems. PCIe cards can have bridges, which no
/// fact shows.
///
/// Source: NVIDIA's data sheets of SXM modules (from memory).
fn nvlink(gpus: &PoolGpus) -> NvLink {
    if gpus.per_node < 2 || gpus.fraction.is_some() {
        return NvLink::OneGpu;
    }
    let is_module = |model: &GpuModel| model.key.contains("-sxm");
    if is_module(gpus.model) || gpus.model.has_multi_node_nvlink() {
        NvLink::Present
    } else {
        NvLink::Unknown
    }
}
