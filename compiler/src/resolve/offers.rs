//! What a node offers to pods, by how its GPUs are shared.

use std::collections::BTreeMap;

use gpuc_schema::config::{MigStrategy, NodePool};
use gpuc_schema::gpu::Mig;

use crate::model::{Known, MigGpu, Offer, PoolGpus, Sharing};
use crate::node::Origin;

const GPU: &str = "nvidia.com/gpu";
const SHARED: &str = "nvidia.com/gpu.shared";

/// The resources of a node, by name.
pub(super) fn of(
    pool: &NodePool,
    gpus: &Known<Option<PoolGpus>>,
    sharing: &Known<Sharing>,
) -> Known<Vec<Offer>> {
    let gpus = match gpus {
        Known::Yes(Some(gpus)) => gpus,
        Known::Yes(None) => return Known::Yes(Vec::new()),
        Known::No(reported) => return Known::No(*reported),
    };
    let sharing = match sharing {
        Known::Yes(sharing) => sharing,
        Known::No(reported) => return Known::No(*reported),
    };
    let counts = counts(gpus, sharing);
    let offer = |(resource, per_node): (String, u32)| Offer {
        resource,
        per_node,
        origin: Origin::rule(
            [gpus.chosen, pool.sharing.span],
            "the names and counts that follow from the GPUs and how they are shared",
        ),
    };
    Known::Yes(counts.into_iter().map(offer).collect())
}

fn counts(gpus: &PoolGpus, sharing: &Sharing) -> BTreeMap<String, u32> {
    let shares = |replicas: u32, rename: bool| {
        let name = if rename { SHARED } else { GPU };
        // The replicas of a share are at most 48 and a node has at most 16 GPUs; what is not is reported by a rule.
        BTreeMap::from([(name.to_owned(), gpus.per_node.saturating_mul(replicas))])
    };
    match sharing {
        Sharing::Exclusive => BTreeMap::from([(GPU.to_owned(), gpus.per_node)]),
        Sharing::TimeSlicing { replicas, rename } | Sharing::Mps { replicas, rename } => {
            shares(replicas.value, *rename)
        }
        Sharing::Mig {
            strategy,
            gpus: layouts,
        } => slices(gpus.model.mig, strategy.value, layouts),
    }
}

/// Slices by name. A GPU without slices is offered whole.
fn slices(mig: Option<&Mig>, strategy: MigStrategy, layouts: &[MigGpu]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for gpu in layouts {
        if gpu.slices.is_empty() {
            *counts.entry(GPU.to_owned()).or_default() += 1;
        }
        for slice in &gpu.slices {
            let profile = mig.and_then(|mig| mig.profile(slice.profile));
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
