//! Volume types of AKS. Every cluster has their CSI drivers, except for Blob Storage.

use gpuc_model::cloud::storage::{Parameter, StorageFacts, VolumeType};

/// CSI driver for Blob Storage.
pub(super) const BLOB_ADDON: &str = "blob driver";

const DISK_DOCS: &str = "kubernetes-sigs/azuredisk-csi-driver@99f13a21 docs/driver-parameters.md";
const FILE_DOCS: &str = "kubernetes-sigs/azurefile-csi-driver@5c1774ea docs/driver-parameters.md";

/// The driver creates the storage account and grants access to the subnet of the nodes. With `fuse2` it stores the
/// account key in a Secret.
const BLOB_DOCS: &str = "kubernetes-sigs/blob-csi-driver@006d021f docs/driver-parameters.md";

/// All volume types.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        managed_disk("Premium_LRS", &[("skuName", "Premium_LRS")], None, None),
        managed_disk(
            "StandardSSD_LRS",
            &[("skuName", "StandardSSD_LRS")],
            None,
            None,
        ),
        managed_disk(
            "PremiumV2_LRS",
            // These disks have no cache on the host.
            &[("cachingMode", "None"), ("skuName", "PremiumV2_LRS")],
            Parameter::optional("DiskIOPSReadWrite"),
            Parameter::optional("DiskMBpsReadWrite"),
        ),
    ],
    files: &[
        file_share("Premium_LRS", &[("skuName", "Premium_LRS")]),
        file_share("Standard_LRS", &[("skuName", "Standard_LRS")]),
        blob_container(
            "blob-nfs",
            &[("protocol", "nfs"), ("skuName", "Premium_LRS")],
            &[],
        ),
        blob_container(
            "blob-fuse",
            &[("protocol", "fuse2"), ("skuName", "Premium_LRS")],
            // Without this option only root can access the files.
            &["-o allow_other"],
        ),
    ],
    buckets: None,
    // learn.microsoft.com/azure/aks/concepts-storage, 2026-11-21; those without `csi` in their names belong to older
    // clusters (from memory).
    classes: &[
        "azureblob-fuse-premium",
        "azureblob-nfs-premium",
        "azurefile",
        "azurefile-csi",
        "azurefile-csi-premium",
        "azurefile-premium",
        "default",
        "managed",
        "managed-csi",
        "managed-csi-premium",
        "managed-premium",
    ],
    has_default: true,
    classes_addon: None,
};

const fn managed_disk(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    iops: Option<Parameter>,
    throughput: Option<Parameter>,
) -> VolumeType {
    VolumeType {
        iops,
        throughput,
        ..VolumeType::disk(name, "disk.csi.azure.com", parameters, DISK_DOCS)
    }
}

/// A file share. A storage account is reachable from every zone.
const fn file_share(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType::share(name, "file.csi.azure.com", parameters, FILE_DOCS)
}

/// A container of a storage account, which has no size limit.
const fn blob_container(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    mount_options: &'static [&'static str],
) -> VolumeType {
    VolumeType {
        mount_options,
        addon: Some(BLOB_ADDON),
        ..VolumeType::share(name, "blob.csi.azure.com", parameters, BLOB_DOCS)
    }
}
