//! What pods claim of a pool where Dynamic Resource Allocation hands out its GPUs.

use std::ops::RangeInclusive;

use gpuc_schema::gpu::MigProfile;

use super::NodeRange;
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
        format!("{}.deviceclass.resource.k8s.io/devices", self.name)
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
