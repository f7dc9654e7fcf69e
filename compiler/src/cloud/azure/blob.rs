//! The driver for Blob Storage, which a cluster has only where somebody switched it on. It is not switched off where no
//! class asks for it: volumes may be left.

use gpuc_schema::Span;

use super::{az, cluster_name, created, section, storage};
use crate::model::Cluster;
use crate::plan::{Change, FieldKind, IdentityCheck};

/// What switches it on, in `az aks create` and `az aks update`.
pub(super) const ENABLE: &str = "--enable-blob-driver";

/// The field of the cluster.
pub(super) const FIELD: FieldKind = FieldKind {
    name: "Blob Storage's driver",
    read: ".storageProfile.blobCsiDriver.enabled // false",
    create: Some(ENABLE),
    change: Change::InPlace,
    source: "azure-cli 2.91.0, az aks update",
};

/// Where a class asks for it.
pub(super) fn wanted(cluster: &Cluster) -> Option<Span> {
    let addons = storage::STORAGE.addons(&cluster.written);
    addons.get(storage::BLOB)?.first().copied()
}

/// Nobody but the owner of a cluster switches its drivers on.
pub(super) fn of_others(cluster: &Cluster) -> Option<IdentityCheck> {
    let asked = wanted(cluster).is_some() && created(cluster).is_none();
    let name = cluster_name(cluster);
    let section = section(&cluster.written);
    asked.then(|| IdentityCheck {
        what: "Blob Storage's driver in the AKS cluster",
        is_place: false,
        ask: az(&cluster.written, &["aks", "show"])
            .with(["--name", name])
            .with(["--query", "storageProfile.blobCsiDriver.enabled"])
            .with(["--output", "tsv"]),
        want: "true".to_owned(),
        otherwise: format!(
            "switch it on: az aks update --resource-group {} --name {name} {ENABLE}",
            section.resource_group
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{provision, with_cluster};
    use crate::plan::{Resource, Word};

    const POOL: &str = "- {name: train, machine: Standard_NC4as_T4_v3, nodes: {count: 2}}\n\
                        storage: {classes: [{name: data, volumes: {files: {type: blob-nfs}}}]}";

    fn creates_with_it(resource: &Resource) -> bool {
        let enable = Word::Text(super::ENABLE.to_owned());
        resource.create.iter().any(|it| it.0.contains(&enable))
    }

    #[test]
    fn a_class_of_containers_switches_it_on() {
        let made = provision(&with_cluster("{create: {}}", POOL));
        assert!(creates_with_it(&made.resources[1]));
        assert_eq!(made.identity.len(), 1);
        let without = POOL.replace("blob-nfs", "Premium_LRS");
        let made = provision(&with_cluster("{create: {}}", &without));
        assert!(!creates_with_it(&made.resources[1]));
    }

    #[test]
    fn in_a_cluster_of_others_it_is_only_asked_for() {
        let made = provision(&with_cluster("{existing: {name: prod}}", POOL));
        assert_eq!(made.identity[1].want, "true");
        assert!(made.identity[1].otherwise.ends_with("--enable-blob-driver"));
    }
}
