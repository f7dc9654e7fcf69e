//! The resources that a node advertises, depending on how its GPUs are shared.

use std::collections::BTreeMap;

use gpuc_schema::config::{MigStrategy, NodePool};
use gpuc_schema::gpu::Mig;
use gpuc_syntax::node::Origin;

use crate::{AdvertisedResource, DeviceKind, MigGpu, PoolGpus, Resolved, Sharing};

const GPU: &str = "nvidia.com/gpu";
const SHARED: &str = "nvidia.com/gpu.shared";

/// The advertised resources of a node, by name.
pub(super) fn resolve(
    pool: &NodePool,
    gpus: &Resolved<Option<PoolGpus>>,
    sharing: &Resolved<Sharing>,
) -> Resolved<Vec<AdvertisedResource>> {
    let gpus = match gpus {
        Resolved::Value(Some(gpus)) => gpus,
        Resolved::Value(None) => return Resolved::Value(Vec::new()),
        Resolved::Unresolved(reported) => return Resolved::Unresolved(*reported),
    };
    let sharing = match sharing {
        Resolved::Value(sharing) => sharing,
        Resolved::Unresolved(reported) => return Resolved::Unresolved(*reported),
    };
    let counts = count_resources(gpus, sharing);
    let to_resource = |(resource, per_node): (String, u32)| AdvertisedResource {
        name: resource,
        per_node,
        origin: Origin::rule(
            [gpus.span, pool.sharing.span],
            "the resource names and counts follow from the GPUs and how they are shared",
        ),
    };
    Resolved::Value(counts.into_iter().map(to_resource).collect())
}

fn count_resources(gpus: &PoolGpus, sharing: &Sharing) -> BTreeMap<String, u32> {
    let replicas_of_gpus = |replicas: u32, rename: bool| {
        let name = if rename { SHARED } else { GPU };
        // A rule reports values above 48 replicas; a node has at most 16 GPUs.
        BTreeMap::from([(name.to_owned(), gpus.per_node.saturating_mul(replicas))])
    };
    match sharing {
        Sharing::Exclusive => BTreeMap::from([(GPU.to_owned(), gpus.per_node)]),
        Sharing::TimeSlicing { replicas, rename } | Sharing::Mps { replicas, rename } => {
            replicas_of_gpus(replicas.value, *rename)
        }
        Sharing::Mig {
            strategy,
            gpus: layouts,
        } => count_mig_resources(gpus.model.mig, strategy.value, layouts),
    }
}

/// The resource that a device plugin advertises a full GPU or a MIG device as.
pub(super) fn resource_of_device(device: DeviceKind, sharing: &Sharing) -> String {
    match (device, sharing) {
        (DeviceKind::MigDevice(profile), Sharing::Mig { strategy, .. })
            if strategy.value == MigStrategy::Mixed =>
        {
            format!("nvidia.com/{}", profile.resource_name())
        }
        _ => GPU.to_owned(),
    }
}

/// The number of MIG devices by resource name. A GPU without MIG devices is advertised as a full GPU.
fn count_mig_resources(
    mig: Option<&Mig>,
    strategy: MigStrategy,
    layouts: &[MigGpu],
) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for gpu in layouts {
        if gpu.placements.is_empty() {
            *counts.entry(GPU.to_owned()).or_default() += 1;
        }
        for placement in &gpu.placements {
            let profile = mig.and_then(|mig| mig.profile(placement.profile));
            let name = match (strategy, profile) {
                (MigStrategy::Mixed, Some(profile)) => {
                    format!("nvidia.com/{}", profile.resource_name())
                }
                _ => GPU.to_owned(),
            };
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}
