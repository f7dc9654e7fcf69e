//! The volumes of EKS: disks of EBS and shares of EFS, by drivers that are add-ons of EKS.

use crate::cloud::storage::{Parameter, StorageFacts, VolumeType};

/// The add-on with the driver for EBS.
const EBS: &str = "aws-ebs-csi-driver";

/// The add-on with the driver for EFS.
const EFS: &str = "aws-efs-csi-driver";

const EBS_DOCS: &str = "kubernetes-sigs/aws-ebs-csi-driver:docs/parameters.md; docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html (named from memory, not opened)";

/// Every type of volume.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        VolumeType {
            name: "gp3",
            provisioner: "ebs.csi.aws.com",
            parameters: &[("encrypted", "true"), ("type", "gp3")],
            iops: Parameter::may("iops"),
            throughput: Parameter::may("throughput"),
            id: None,
            waits: true,
            expands: true,
            addon: Some(EBS),
            source: EBS_DOCS,
        },
        VolumeType {
            name: "io2",
            provisioner: "ebs.csi.aws.com",
            parameters: &[("encrypted", "true"), ("type", "io2")],
            iops: Parameter::must("iops"),
            throughput: None,
            id: None,
            waits: true,
            expands: true,
            addon: Some(EBS),
            source: EBS_DOCS,
        },
    ],
    files: &[VolumeType {
        name: "efs",
        provisioner: "efs.csi.aws.com",
        parameters: &[("directoryPerms", "700"), ("provisioningMode", "efs-ap")],
        iops: None,
        throughput: None,
        id: Parameter::must("fileSystemId"),
        // A file system has an address in every zone.
        waits: false,
        expands: false,
        addon: Some(EFS),
        source: "kubernetes-sigs/aws-efs-csi-driver:docs/README.md; docs.aws.amazon.com/eks/latest/userguide/efs-csi.html (named from memory, not opened)",
    }],
    // docs.aws.amazon.com/eks/latest/userguide/storage-classes.html: every cluster has it, and since 1.30 no default.
    classes: &["gp2"],
};
