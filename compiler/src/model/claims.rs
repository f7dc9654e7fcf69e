//! What pods claim of a pool where Dynamic Resource Allocation hands out its GPUs.

use std::ops::RangeInclusive;

use gpuc_schema::gpu::{Basis, GpuModel, MigProfile};

use super::{Cluster, Grant, NodeRange, Pool};
use crate::node::Origin;

/// A DeviceClass of a pool: what a claim names to get one kind of device, shared as the pool says.
#[derive(Clone, Debug)]
pub struct DeviceClass {
    /// The DeviceClass's name.
    pub name: String,
    /// What one device of it is.
    pub device: Claimed,
    /// How many a node has.
    pub per_node: u32,
    /// Why.
    pub origin: Origin,
}

/// What a claimed device is.
#[derive(Clone, Copy, Debug)]
pub enum Claimed {
    /// A whole GPU.
    Gpu,
    /// A slice of one.
    Slice(&'static MigProfile),
}

impl DeviceClass {
    /// How many the pool has, at its fewest and at its most nodes.
    pub fn total(&self, nodes: &NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }

    /// What a ResourceQuota calls the devices that the claims of a namespace ask for through this class.
    ///
    /// Source: `ResourceClaimsPerClass` in kubernetes `pkg/quota/v1/evaluator/core/resource_claims.go`,
    /// 2026-11-21.
    pub fn quota(&self) -> String {
        Self::quota_of(&self.name)
    }

    /// The same of a class with this name, whoever made it.
    pub fn quota_of(name: &str) -> String {
        format!("{name}.deviceclass.resource.k8s.io/devices")
    }

    /// What a container may ask for in its `resources` instead of making a claim, on Kubernetes that makes the claim
    /// for it. The part after the slash has at most 63 characters; a class with a longer name can only be claimed.
    ///
    /// Source: KEP-5004, <https://www.kubernetes.dev/resources/keps/5004/>, 2026-11-21.
    pub fn extended_resource(&self) -> Option<String> {
        let fits = self.name.len() <= 63;
        fits.then(|| format!("deviceclass.resource.kubernetes.io/{}", self.name))
    }
}

impl Cluster {
    /// Whether what counts for one grant counts the devices of a pool as well: pods ask for them by the same name, or a
    /// class of the pool takes the same devices. A class looks at the card alone, not at the pool.
    pub fn is_counted_with(&self, grant: &Grant, pool: &Pool) -> bool {
        let mut offers = pool.offers.get().into_iter().flatten();
        let own = &self.pools[grant.pool];
        let class = own.classes.iter().find(|it| it.name == grant.resource);
        match class {
            Some(class) => {
                let mut others = pool.classes.iter();
                others.any(|other| is_same_kind(class.device, other.device))
                    && is_same_card(own, pool)
            }
            None => offers.any(|offer| offer.resource == grant.resource),
        }
    }

    /// Whether two grants are counted as one where no queue tells pools apart.
    pub fn are_counted_together(&self, one: &Grant, other: &Grant) -> bool {
        let class = |grant: &Grant| {
            let mut classes = self.pools[grant.pool].classes.iter();
            classes.find(|it| it.name == grant.resource)
        };
        match (class(one), class(other)) {
            (Some(a), Some(b)) => {
                is_same_kind(a.device, b.device)
                    && is_same_card(&self.pools[one.pool], &self.pools[other.pool])
            }
            _ => one.quota_name == other.quota_name,
        }
    }
}

fn is_same_kind(one: Claimed, other: Claimed) -> bool {
    match (one, other) {
        (Claimed::Gpu, Claimed::Gpu) => true,
        (Claimed::Slice(one), Claimed::Slice(other)) => one.name == other.name,
        _ => false,
    }
}

/// Whether the classes of two pools can take the same card: they know it by its name where that is sure, else by its
/// instruction set.
fn is_same_card(one: &Pool, other: &Pool) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_derives_from_a_class() {
        let class = |name: &str| DeviceClass {
            name: name.to_owned(),
            device: Claimed::Gpu,
            per_node: 8,
            origin: Origin::default(),
        };
        let train = class("train.gpuc.dev");
        assert_eq!(
            train.quota(),
            "train.gpuc.dev.deviceclass.resource.k8s.io/devices"
        );
        assert_eq!(
            train.extended_resource().as_deref(),
            Some("deviceclass.resource.kubernetes.io/train.gpuc.dev")
        );
        let long = format!("{}.gpuc.dev", "a".repeat(60));
        assert_eq!(class(&long).extended_resource(), None);
    }
}
