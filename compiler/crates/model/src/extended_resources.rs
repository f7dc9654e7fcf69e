//! Extended resources of DeviceClasses: the names under which pods request devices without a ResourceClaim.
//!
//! Kubernetes knows one DeviceClass for each name: of several, the one that was created last, then the first by name
//! (kubernetes `staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache`, read 2026-11-29).
//! NVIDIA's chart also gives `nvidia.com/gpu` to its class `gpu.nvidia.com`, so that gpuc creates its classes after
//! that release (kubernetes-sigs/dra-driver-nvidia-gpu@v0.4.0 `templates/deviceclass-gpu.yaml`).
//!
//! A ResourceQuota counts a pod's request under the name. The ResourceClaim that the scheduler creates for it counts
//! for the DeviceClass, and any other claim of the class also for the name (kubernetes
//! `pkg/quota/v1/evaluator/core/resource_claims.go`, `addExtendedResourceQuota`, read 2026-11-29).

use super::{AdvertisedResource, Cluster, DeviceClass, Grant, KubernetesVersion, Pool};

impl Cluster {
    /// The DeviceClasses that have an extended resource, each with its pool: the first class of each name.
    pub fn extended_classes(&self) -> Vec<(&Pool, &DeviceClass, &str)> {
        let mut found: Vec<(&Pool, &DeviceClass, &str)> = Vec::new();
        for (pool, class, name) in self.named_classes() {
            if !found.iter().any(|(_, _, earlier)| *earlier == name) {
                found.push((pool, class, name));
            }
        }
        found
    }

    /// The classes of pools with `extendedResources`, each with the name that its devices have.
    pub fn named_classes(&self) -> impl Iterator<Item = (&Pool, &DeviceClass, &str)> {
        self.pools.iter().flat_map(|pool| {
            let classes = pool.classes.iter();
            classes.filter_map(move |class| {
                let name = class.extended_resource.as_deref()?;
                Some((pool, class, name))
            })
        })
    }

    /// The DeviceClass of gpuc whose devices Kubernetes allocates to pods that request an extended resource.
    pub fn class_of_resource(&self, resource: &str) -> Option<(&Pool, &DeviceClass)> {
        let mut classes = self.named_classes();
        let (pool, class, _) = classes.find(|(_, _, name)| *name == resource)?;
        Some((pool, class))
    }

    /// Whether this version of Kubernetes creates ResourceClaims for extended resources.
    pub fn bridges_extended_resources(&self) -> bool {
        let version = self.kubernetes.get().map(|version| version.value);
        version >= Some(KubernetesVersion::FIRST_WITH_DRA_EXTENDED_RESOURCES)
    }

    /// The extended resource that pods request to use the devices of a grant: its resource, or that of its DeviceClass.
    pub fn extended_resource_of<'g>(&'g self, grant: &'g Grant) -> Option<&'g str> {
        let mut classes = self.pools[grant.pool].classes.iter();
        match classes.find(|class| class.name == grant.resource) {
            Some(class) => class.extended_resource.as_deref(),
            None => Some(&grant.resource),
        }
    }
}

impl Pool {
    /// The GPUs that containers can request from a node as extended resources: those of its device plugin, or of its
    /// DeviceClasses with a name. `None` if they are unresolved.
    pub fn requestable_devices(&self) -> Option<Vec<AdvertisedResource>> {
        let named = self.classes.iter().filter_map(|class| {
            Some(AdvertisedResource {
                name: class.extended_resource.clone()?,
                per_node: class.per_node,
                origin: class.origin.clone(),
            })
        });
        Some(
            self.advertised
                .get()?
                .iter()
                .cloned()
                .chain(named)
                .collect(),
        )
    }

    /// Whether pods can get devices of this pool by an extended resource: a device plugin advertises it, or a
    /// DeviceClass of the pool has its name.
    pub fn has_extended_resource(&self, name: &str) -> bool {
        let mut advertised = self.advertised.get().into_iter().flatten();
        let mut classes = self.classes.iter();
        advertised.any(|resource| resource.name == name)
            || classes.any(|class| class.extended_resource.as_deref() == Some(name))
    }
}
