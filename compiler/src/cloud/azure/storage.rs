//! The volumes of AKS, whose drivers every cluster has.

use crate::cloud::storage::{Parameter, StorageFacts, VolumeType};

const DISKS: &str = "kubernetes-sigs/azuredisk-csi-driver:docs/driver-parameters.md; learn.microsoft.com/azure/aks/azure-csi-disk-storage-provision (named from memory, not opened)";
const FILES: &str = "kubernetes-sigs/azurefile-csi-driver:docs/driver-parameters.md; learn.microsoft.com/azure/aks/azure-csi-files-storage-provision (named from memory, not opened)";

/// Every type of volume.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        disk("Premium_LRS", &[("skuName", "Premium_LRS")], None, None),
        disk(
            "StandardSSD_LRS",
            &[("skuName", "StandardSSD_LRS")],
            None,
            None,
        ),
        disk(
            "PremiumV2_LRS",
            // These disks have no cache on the host.
            &[("cachingMode", "None"), ("skuName", "PremiumV2_LRS")],
            Parameter::may("DiskIOPSReadWrite"),
            Parameter::may("DiskMBpsReadWrite"),
        ),
    ],
    files: &[
        share("Premium_LRS", &[("skuName", "Premium_LRS")]),
        share("Standard_LRS", &[("skuName", "Standard_LRS")]),
    ],
    // learn.microsoft.com/azure/aks/concepts-storage (from memory).
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
};

const fn disk(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    iops: Option<Parameter>,
    throughput: Option<Parameter>,
) -> VolumeType {
    VolumeType {
        name,
        provisioner: "disk.csi.azure.com",
        parameters,
        iops,
        throughput,
        id: None,
        waits: true,
        expands: true,
        addon: None,
        source: DISKS,
    }
}

const fn share(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        name,
        provisioner: "file.csi.azure.com",
        parameters,
        iops: None,
        throughput: None,
        id: None,
        // A storage account is reached from every zone.
        waits: false,
        expands: true,
        addon: None,
        source: FILES,
    }
}
