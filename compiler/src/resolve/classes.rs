//! What pods claim of a pool where Dynamic Resource Allocation hands out its GPUs.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, NodePool};

use crate::model::{Claimed, DeviceClass, Known, MigGpu, Offer, PoolGpus, Sharing};
use crate::node::Origin;

/// The end of every class's name.
const DOMAIN: &str = "gpuc.dev";

/// What a node offers by a device plugin, and what pods claim of it: one of them is empty.
pub(super) fn split(
    pool: &NodePool,
    allocation: Spanned<Allocation>,
    (gpus, sharing): (&Known<Option<PoolGpus>>, &Known<Sharing>),
    offers: Known<Vec<Offer>>,
) -> (Known<Vec<Offer>>, Vec<DeviceClass>) {
    match (gpus.get(), sharing.get()) {
        (Some(Some(gpus)), Some(sharing)) if allocation.value == Allocation::Dra => {
            let classes = classes(pool, allocation, gpus, sharing);
            (Known::Yes(Vec::new()), classes)
        }
        _ => (offers, Vec::new()),
    }
}

/// The classes of a pool, by name: one for its whole GPUs, one for each profile of its slices.
fn classes(
    pool: &NodePool,
    allocation: Spanned<Allocation>,
    gpus: &PoolGpus,
    sharing: &Sharing,
) -> Vec<DeviceClass> {
    let class = |name: String, device, per_node| DeviceClass {
        name,
        device,
        per_node,
        origin: Origin::rule(
            [
                allocation.span,
                pool.name.span,
                gpus.chosen,
                pool.sharing.span,
            ],
            "a pool whose GPUs are claimed has a class for each kind of device on its nodes",
        ),
    };
    let whole = |count| class(format!("{}.{DOMAIN}", pool.name), Claimed::Gpu, count);
    let Sharing::Mig { gpus: layouts, .. } = sharing else {
        return vec![whole(gpus.per_node)];
    };
    let uncut = layouts.iter().filter(|gpu| gpu.slices.is_empty()).count();
    let uncut = u32::try_from(uncut).unwrap_or(u32::MAX);
    let slices = slices(layouts).into_iter().filter_map(|(profile, count)| {
        let profile = gpus.model.mig?.profile(profile)?;
        // A profile's name may have a `+`, which no object's name has.
        let slice = profile.resource_name();
        let name = format!("{slice}.{}.{DOMAIN}", pool.name);
        Some(class(name, Claimed::Slice(profile), count))
    });
    let mut classes: Vec<_> = slices.collect();
    classes.extend((uncut > 0).then(|| whole(uncut)));
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    classes
}

/// How many slices of each profile a node has.
fn slices(layouts: &[MigGpu]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for slice in layouts.iter().flat_map(|gpu| &gpu.slices) {
        *counts.entry(slice.profile).or_default() += 1;
    }
    counts
}
