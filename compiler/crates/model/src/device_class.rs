//! The DeviceClasses of pools whose GPUs are allocated through Dynamic Resource Allocation (DRA).

use std::ops::RangeInclusive;

use gpuc_schema::gpu::MigProfile;
use gpuc_syntax::node::Origin;

use super::NodeRange;

/// A DeviceClass of a pool: one kind of device, with the sharing of the pool.
#[derive(Clone, Debug)]
pub struct DeviceClass {
    /// The name of the DeviceClass.
    pub name: String,
    /// The kind of device.
    pub device_kind: DeviceKind,
    /// The number on each node.
    pub per_node: u32,
    /// The extended resource that the class serves if the pool has `extendedResources`: `nvidia.com/gpu`. Only one
    /// class of the cluster can have a name: [`Cluster::class_of_resource`](crate::Cluster::class_of_resource).
    pub extended_resource: Option<String>,
    /// The origin.
    pub origin: Origin,
}

/// A kind of device that is allocated through DRA.
#[derive(Clone, Copy, Debug)]
pub enum DeviceKind {
    /// A full GPU.
    FullGpu,
    /// A MIG device.
    MigDevice(&'static MigProfile),
}

impl DeviceClass {
    /// The number in the pool, at the minimum and at the maximum number of nodes.
    pub fn total(&self, nodes: &NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }

    /// The name of this DeviceClass in a ResourceQuota, which counts the devices that the claims of a namespace
    /// request.
    ///
    /// Source: `ResourceClaimsPerClass` in kubernetes `pkg/quota/v1/evaluator/core/resource_claims.go`,
    /// 2026-11-21.
    pub fn quota_resource(&self) -> String {
        Self::quota_resource_named(&self.name)
    }

    /// The name of any DeviceClass in a ResourceQuota.
    pub fn quota_resource_named(name: &str) -> String {
        format!("{name}.deviceclass.resource.k8s.io/devices")
    }

    /// The extended resource that every class has by its name, and that a container can request in its `resources`
    /// instead of a claim, on Kubernetes versions that create the claim for it. The part after the slash has at most 63
    /// characters; a DeviceClass with a longer name can only be requested in a claim.
    ///
    /// Source: KEP-5004, <https://www.kubernetes.dev/resources/keps/5004/>, 2026-11-21.
    pub fn implicit_resource(&self) -> Option<String> {
        let fits = self.name.len() <= 63;
        fits.then(|| format!("deviceclass.resource.kubernetes.io/{}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_names_derive_from_the_class() {
        let class = |name: &str| DeviceClass {
            name: name.to_owned(),
            device_kind: DeviceKind::FullGpu,
            per_node: 8,
            extended_resource: None,
            origin: Origin::default(),
        };
        let train = class("train.gpuc.dev");
        assert_eq!(
            train.quota_resource(),
            "train.gpuc.dev.deviceclass.resource.k8s.io/devices"
        );
        assert_eq!(
            train.implicit_resource().as_deref(),
            Some("deviceclass.resource.kubernetes.io/train.gpuc.dev")
        );
        let long = format!("{}.gpuc.dev", "a".repeat(60));
        assert_eq!(class(&long).implicit_resource(), None);
    }
}
