//! GPU sharing of a pool, and the resources that the pool advertises.

use std::ops::RangeInclusive;

use gpuc_schema::Spanned;
use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::placement::Placement;

use gpuc_syntax::node::Origin;

/// How containers share a pool's GPUs.
#[derive(Clone, Debug)]
pub enum Sharing {
    /// A GPU belongs to one container at a time.
    Exclusive,
    /// Containers are time-sliced.
    TimeSlicing {
        /// The number of replicas of each GPU.
        replicas: Spanned<u32>,
        /// Whether replicas are advertised under another resource name.
        rename: bool,
    },
    /// Containers run concurrently through the Multi-Process Service.
    Mps {
        /// The number of replicas of each GPU.
        replicas: Spanned<u32>,
        /// Whether replicas are advertised under another resource name.
        rename: bool,
    },
    /// GPUs are partitioned into MIG devices.
    Mig {
        /// The naming of the resources of MIG devices.
        strategy: Spanned<MigStrategy>,
        /// Every GPU of a node, in the order of its index.
        gpus: Vec<MigGpu>,
    },
}

impl Sharing {
    /// Whether every GPU of a node is partitioned into MIG devices.
    pub fn partitions_every_gpu(&self) -> bool {
        match self {
            Self::Mig { gpus, .. } => gpus.iter().all(|gpu| !gpu.placements.is_empty()),
            Self::Exclusive | Self::TimeSlicing { .. } | Self::Mps { .. } => false,
        }
    }
}

/// The MIG devices of one GPU, with their placements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigGpu {
    /// The index of the GPU on the node.
    pub index: u32,
    /// The MIG devices, by placement.
    pub placements: Vec<Placement>,
}

/// A resource that the nodes of a pool advertise.
#[derive(Clone, Debug)]
pub struct AdvertisedResource {
    /// The name: `nvidia.com/gpu`, `nvidia.com/gpu.shared`, `nvidia.com/mig-3g.20gb`.
    pub name: String,
    /// The number on each node.
    pub per_node: u32,
    /// The origin.
    pub origin: Origin,
}

impl AdvertisedResource {
    /// The number in the pool, at the minimum and at the maximum number of nodes.
    pub fn total(&self, nodes: &super::NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }
}
