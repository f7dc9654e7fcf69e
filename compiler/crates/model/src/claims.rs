//! Quotas of GPUs that are allocated through Dynamic Resource Allocation (DRA): the devices that each one counts.

use gpuc_schema::gpu::{Basis, GpuModel};

use super::{Cluster, DeviceClass, DeviceKind, Grant, Pool};

impl Cluster {
    /// Whether the quota of a grant also counts the devices of a pool: the pool has the same extended resource, or a
    /// DeviceClass with the same devices. A DeviceClass selects by GPU model, not by pool.
    pub fn counts_devices_of(&self, grant: &Grant, pool: &Pool) -> bool {
        let extended = self.extended_resource_of(grant);
        if extended.is_some_and(|name| pool.has_extended_resource(name)) {
            return true;
        }
        let grant_pool = &self.pools[grant.pool];
        let mut classes = grant_pool.classes.iter();
        classes
            .find(|it| it.name == grant.resource)
            .is_some_and(|class| {
                let mut device_classes = pool.classes.iter();
                device_classes.any(|other| is_same_kind(class.device_kind, other.device_kind))
                    && is_same_model(grant_pool, pool)
            })
    }

    /// Whether the DeviceClasses of two pools select the same devices.
    pub fn select_same_devices(
        &self,
        (one_pool, one): (&Pool, &DeviceClass),
        (other_pool, other): (&Pool, &DeviceClass),
    ) -> bool {
        is_same_kind(one.device_kind, other.device_kind) && is_same_model(one_pool, other_pool)
    }

    /// Whether two grants are counted as one if no queue distinguishes pools.
    pub fn are_counted_together(&self, one: &Grant, other: &Grant) -> bool {
        let extended = self.extended_resource_of(one);
        if extended.is_some() && extended == self.extended_resource_of(other) {
            return true;
        }
        let class = |grant: &Grant| {
            let mut classes = self.pools[grant.pool].classes.iter();
            classes.find(|it| it.name == grant.resource)
        };
        match (class(one), class(other)) {
            (Some(a), Some(b)) => {
                is_same_kind(a.device_kind, b.device_kind)
                    && is_same_model(&self.pools[one.pool], &self.pools[other.pool])
            }
            _ => one.quota_name == other.quota_name,
        }
    }
}

fn is_same_kind(one: DeviceKind, other: DeviceKind) -> bool {
    match (one, other) {
        (DeviceKind::FullGpu, DeviceKind::FullGpu) => true,
        (DeviceKind::MigDevice(one), DeviceKind::MigDevice(other)) => one.name == other.name,
        _ => false,
    }
}

/// Whether the DeviceClasses of two pools can select the same GPU: by its product name if that is documented, otherwise
/// by its compute capability.
fn is_same_model(one: &Pool, other: &Pool) -> bool {
    let model = |pool: &Pool| pool.gpus.get()?.as_ref().map(|gpus| gpus.model);
    let (Some(one), Some(other)) = (model(one), model(other)) else {
        return false;
    };
    let has_name = |model: &GpuModel| model.product_basis <= Basis::Documented;
    if has_name(one) && has_name(other) {
        one.products
            .iter()
            .any(|name| other.products.contains(name))
    } else {
        one.compute_capability == other.compute_capability
    }
}
