//! What a node offers: which resources there are, and what can be asked for under each name.

use std::collections::BTreeMap;

use gpuc_schema::node_config::NodeSharing;

use super::mig::resource_of;
use super::{Gpu, Inventory};

/// What whole GPUs are called, and slices where all are alike.
pub const GPU: &str = "nvidia.com/gpu";

/// A resource with everything that can be asked for under its name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// How many containers share what stands behind one share; 1 where nobody shares.
    pub replicas: u32,
    /// What the kubelet hands out, by GPU, then slice, then replica.
    pub shares: Vec<Share>,
}

/// One of what the kubelet hands out: a GPU, a MIG device, or a replica of one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// What the kubelet calls it: the UUID, and for replicas `::` and a number from 0 on.
    pub id: String,
    /// The UUID of the GPU or MIG device.
    pub part: String,
    /// The index of the GPU it is, or is on.
    pub gpu: u32,
    /// The GPU's NUMA node.
    pub numa: Option<u32>,
}

impl Offer {
    /// The share that the kubelet calls so.
    pub fn share(&self, id: &str) -> Option<&Share> {
        self.shares.iter().find(|share| share.id == id)
    }
}

/// What a node with these GPUs offers, by name. A GPU in MIG mode offers its slices, and nothing while it has none; one
/// that does not answer offers what it did when it last answered.
pub fn offers(inventory: &Inventory, sharing: &NodeSharing) -> Vec<Offer> {
    let (replicas, rename) = match sharing {
        NodeSharing::Exclusive | NodeSharing::Mig { .. } => (1, false),
        NodeSharing::TimeSlicing {
            replicas, rename, ..
        } => (*replicas, *rename),
        NodeSharing::Mps {
            replicas, rename, ..
        } => (*replicas, *rename),
    };
    let mut offers: BTreeMap<String, Vec<Share>> = BTreeMap::new();
    for gpu in &inventory.gpus {
        for (resource, part) in parts(gpu, sharing) {
            let resource = if rename {
                resource + ".shared"
            } else {
                resource
            };
            let shares = offers.entry(resource).or_default();
            shares.extend(shares_of(gpu, &part, replicas));
        }
    }
    let offer = |(resource, shares)| Offer {
        resource,
        replicas,
        shares,
    };
    offers.into_iter().map(offer).collect()
}

/// What stands behind the shares of a GPU: resource and UUID.
fn parts(gpu: &Gpu, sharing: &NodeSharing) -> Vec<(String, String)> {
    let whole = || vec![(GPU.to_owned(), gpu.id())];
    let NodeSharing::Mig { strategy, .. } = sharing else {
        return whole();
    };
    match gpu.info() {
        Some(info) if info.mig.is_some_and(|mode| mode.enabled) => info
            .slices
            .iter()
            .filter_map(|slice| Some((resource_of(slice, strategy)?, slice.uuid.clone())))
            .collect(),
        _ => whole(),
    }
}

fn shares_of(gpu: &Gpu, part: &str, replicas: u32) -> Vec<Share> {
    let numa = match gpu {
        Gpu::Known { numa, .. } => *numa,
        Gpu::Silent { .. } => None,
    };
    let share = |id: String| Share {
        id,
        part: part.to_owned(),
        gpu: gpu.index(),
        numa,
    };
    if replicas == 1 {
        return vec![share(part.to_owned())];
    }
    (0..replicas)
        .map(|number| share(format!("{part}::{number}")))
        .collect()
}
