//! How containers share a pool's GPUs, and what the pool offers because of it.

use std::ops::RangeInclusive;

use gpuc_schema::Spanned;
use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::placement::Placement;

use crate::node::Origin;

/// How containers share a pool's GPUs.
#[derive(Clone, Debug)]
pub enum Sharing {
    /// A GPU belongs to one container at a time.
    Exclusive,
    /// Containers take turns.
    TimeSlicing {
        /// How many share one GPU.
        replicas: Spanned<u32>,
        /// Whether shares have a name of their own.
        rename: bool,
    },
    /// Containers run side by side through the Multi-Process Service.
    Mps {
        /// How many share one GPU.
        replicas: Spanned<u32>,
        /// Whether shares have a name of their own.
        rename: bool,
    },
    /// GPUs are cut into slices.
    Mig {
        /// What slices are called.
        strategy: Spanned<MigStrategy>,
        /// Every GPU of a node, in the order of its index.
        gpus: Vec<MigGpu>,
    },
}

impl Sharing {
    /// Whether every GPU of a node is cut into slices, so that none is left whole.
    pub fn cuts_every_gpu(&self) -> bool {
        match self {
            Self::Mig { gpus, .. } => gpus.iter().all(|gpu| !gpu.slices.is_empty()),
            Self::Exclusive | Self::TimeSlicing { .. } | Self::Mps { .. } => false,
        }
    }
}

/// The slices of one GPU, each at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigGpu {
    /// The GPU's index on the node.
    pub index: u32,
    /// Its slices, by place.
    pub slices: Vec<Placement>,
}

/// A resource that the nodes of a pool offer to pods.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name: `nvidia.com/gpu`, `nvidia.com/gpu.shared`, `nvidia.com/mig-3g.20gb`.
    pub resource: String,
    /// How many a node has.
    pub per_node: u32,
    /// Why.
    pub origin: Origin,
}

impl Offer {
    /// How many the pool has, at its fewest and at its most nodes.
    pub fn total(&self, nodes: &super::NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }
}
