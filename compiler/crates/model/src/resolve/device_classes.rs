//! The DeviceClasses of a pool whose GPUs are allocated through DRA.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, NodePool};
use gpuc_syntax::node::Origin;

use super::advertised;
use crate::{AdvertisedResource, DeviceClass, DeviceKind, MigGpu, PoolGpus, Resolved, Sharing};

/// The suffix of the name of every DeviceClass.
const DOMAIN: &str = "gpuc.dev";

/// Resolves the DeviceClasses of a pool.
pub(super) struct ClassResolver<'p> {
    /// The pool in the file.
    pub(super) pool: &'p NodePool,
    /// How its GPUs are allocated.
    pub(super) allocation: Spanned<Allocation>,
    /// Whether the DeviceClasses take the names of the resources that a device plugin would advertise.
    pub(super) extended_resources: Spanned<bool>,
}

impl ClassResolver<'_> {
    /// The resources that a device plugin advertises, and the DeviceClasses of the pool. One of them is empty.
    pub(super) fn split_by_allocation(
        &self,
        gpus: &Resolved<Option<PoolGpus>>,
        sharing: &Resolved<Sharing>,
        advertised: Resolved<Vec<AdvertisedResource>>,
    ) -> (Resolved<Vec<AdvertisedResource>>, Vec<DeviceClass>) {
        match (gpus.get(), sharing.get()) {
            (Some(Some(gpus)), Some(sharing)) if self.allocation.value == Allocation::Dra => {
                let classes = self.classes(gpus, sharing);
                (Resolved::Value(Vec::new()), classes)
            }
            _ => (advertised, Vec::new()),
        }
    }

    /// The DeviceClasses of a pool, by name: one for full GPUs and one for each MIG profile.
    fn classes(&self, gpus: &PoolGpus, sharing: &Sharing) -> Vec<DeviceClass> {
        let pool = self.pool;
        let class = |name: String, device_kind, per_node| DeviceClass {
            name,
            device_kind,
            per_node,
            extended_resource: (self.extended_resources.value)
                .then(|| advertised::resource_of_device(device_kind, sharing)),
            origin: Origin::rule(
                [
                    self.allocation.span,
                    self.extended_resources.span,
                    pool.name.span,
                    gpus.span,
                    pool.sharing.span,
                ],
                "a pool with `allocation: dra` has a DeviceClass for each kind of device on its nodes",
            ),
        };
        let full_gpus = |count| {
            class(
                format!("{}.{DOMAIN}", pool.name),
                DeviceKind::FullGpu,
                count,
            )
        };
        let Sharing::Mig { gpus: layouts, .. } = sharing else {
            return vec![full_gpus(gpus.per_node)];
        };
        let unpartitioned = layouts
            .iter()
            .filter(|gpu| gpu.placements.is_empty())
            .count();
        let unpartitioned = u32::try_from(unpartitioned).unwrap_or(u32::MAX);
        let mut classes: Vec<_> = count_mig_devices(layouts)
            .into_iter()
            .filter_map(|(profile, count)| {
                let profile = gpus.model.mig?.profile(profile)?;
                // The name of a profile can contain `+`, which is invalid in the name of an object.
                let resource = profile.resource_name();
                let name = format!("{resource}.{}.{DOMAIN}", pool.name);
                Some(class(name, DeviceKind::MigDevice(profile), count))
            })
            .collect();
        classes.extend((unpartitioned > 0).then(|| full_gpus(unpartitioned)));
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        classes
    }
}

/// The number of MIG devices of each profile on a node.
fn count_mig_devices(layouts: &[MigGpu]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for placement in layouts.iter().flat_map(|gpu| &gpu.placements) {
        *counts.entry(placement.profile).or_default() += 1;
    }
    counts
}
