//! CSI driver for Blob Storage, which AKS does not enable by default. gpuc never disables it, because volumes may
//! remain after the last StorageClass that uses it is removed.

use gpuc_model::Cluster;
use gpuc_model::plan::{Change, FieldKind, IdentityCheck};
use gpuc_schema::Span;

use super::{az_command, cluster_name, create_section, section, storage};

/// Flag of `az aks create` and `az aks update` that enables the driver.
pub(super) const ENABLE_FLAG: &str = "--enable-blob-driver";

/// The corresponding field of the cluster.
pub(super) const BLOB_DRIVER: FieldKind = FieldKind {
    name: "Blob Storage CSI driver",
    read: ".storageProfile.blobCsiDriver.enabled // false",
    create_flag: Some(ENABLE_FLAG),
    change: Change::InPlace,
    source: "azure-cli 2.91.0, az aks update",
};

/// Location of the first StorageClass that uses the driver, if any.
pub(super) fn required_by(cluster: &Cluster) -> Option<Span> {
    let addons = storage::STORAGE.addons(&cluster.config);
    addons.get(storage::BLOB_ADDON)?.first().copied()
}

/// Check that an existing cluster has the driver: gpuc does not enable drivers in clusters that it does not create.
pub(super) fn existing_cluster_check(cluster: &Cluster) -> Option<IdentityCheck> {
    let needs_check = required_by(cluster).is_some() && create_section(cluster).is_none();
    let name = cluster_name(cluster);
    let section = section(&cluster.config);
    needs_check.then(|| IdentityCheck {
        subject: "Blob Storage CSI driver of the AKS cluster",
        is_location: false,
        query: az_command(&cluster.config, &["aks", "show"])
            .with_arguments(["--name", name])
            .with_arguments(["--query", "storageProfile.blobCsiDriver.enabled"])
            .with_arguments(["--output", "tsv"]),
        expected: "true".to_owned(),
        mismatch_message: format!(
            "enable it: az aks update --resource-group {} --name {name} {ENABLE_FLAG}",
            section.resource_group
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{provision, with_cluster};
    use gpuc_model::plan::{Argument, Resource};

    const POOL: &str = "- {name: train, machine: Standard_NC4as_T4_v3, nodes: {count: 2}}\n\
                        storage: {classes: [{name: data, volumes: {files: {type: blob-nfs}}}]}";

    fn enables_driver(resource: &Resource) -> bool {
        let enable = Argument::Text(super::ENABLE_FLAG.to_owned());
        resource
            .create
            .iter()
            .any(|command| command.0.contains(&enable))
    }

    #[test]
    fn storage_class_with_blob_volumes_enables_the_driver() {
        let provisioning = provision(&with_cluster("{create: {}}", POOL));
        assert!(enables_driver(&provisioning.resources[1]));
        assert_eq!(provisioning.identity.len(), 1);
        let without = POOL.replace("blob-nfs", "Premium_LRS");
        let provisioning = provision(&with_cluster("{create: {}}", &without));
        assert!(!enables_driver(&provisioning.resources[1]));
    }

    #[test]
    fn existing_cluster_is_only_checked() {
        let provisioning = provision(&with_cluster("{existing: {name: prod}}", POOL));
        assert_eq!(provisioning.identity[1].expected, "true");
        assert!(
            provisioning.identity[1]
                .mismatch_message
                .ends_with("--enable-blob-driver")
        );
    }
}
