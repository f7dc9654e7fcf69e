//! The volumes of EKS: disks of EBS, shares of EFS and file systems of FSx for Lustre, by drivers that are add-ons.

use crate::cloud::storage::{Parameter, StorageFacts, VolumeType};

/// The add-on with the driver for EBS.
const EBS: &str = "aws-ebs-csi-driver";

/// The add-on with the driver for EFS.
const EFS: &str = "aws-efs-csi-driver";

/// The add-on with the driver for FSx for Lustre.
const FSX: &str = "aws-fsx-csi-driver";

const EBS_DOCS: &str = "kubernetes-sigs/aws-ebs-csi-driver@038816d9 docs/parameters.md";
const EFS_DOCS: &str = "kubernetes-sigs/aws-efs-csi-driver@1009c75e docs/parameters.md";

/// The parameters are read by their names in the driver's `pkg/driver/controller.go`; the add-on asks for roles by pod
/// identity (docs.aws.amazon.com/eks/latest/userguide/fsx-csi-create.html). Version 2.15 is for all deployment types
/// and recommended (AWS SDK for Kotlin, `CreateFileSystemRequest.fileSystemTypeVersion`); 125 MB/s for each TiB is the
/// least that `PERSISTENT_2` sells (from memory). 2026-11-21.
const FSX_DOCS: &str =
    "kubernetes-sigs/aws-fsx-csi-driver@06268a45 examples/kubernetes/dynamic_provisioning";

/// Every type of volume.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        VolumeType {
            iops: Parameter::may("iops"),
            throughput: Parameter::may("throughput"),
            addon: Some(EBS),
            ..VolumeType::disk(
                "gp3",
                "ebs.csi.aws.com",
                &[("encrypted", "true"), ("type", "gp3")],
                EBS_DOCS,
            )
        },
        VolumeType {
            iops: Parameter::must("iops"),
            addon: Some(EBS),
            ..VolumeType::disk(
                "io2",
                "ebs.csi.aws.com",
                &[("encrypted", "true"), ("type", "io2")],
                EBS_DOCS,
            )
        },
    ],
    files: &[
        VolumeType {
            id: Parameter::must("fileSystemId"),
            // A share of a file system has no size.
            expands: false,
            addon: Some(EFS),
            ..VolumeType::share(
                "efs",
                "efs.csi.aws.com",
                &[("directoryPerms", "700"), ("provisioningMode", "efs-ap")],
                EFS_DOCS,
            )
        },
        lustre(
            "SCRATCH_2",
            &[
                ("deploymentType", "SCRATCH_2"),
                ("fileSystemTypeVersion", "2.15"),
            ],
        ),
        lustre(
            "PERSISTENT_2",
            &[
                ("deploymentType", "PERSISTENT_2"),
                ("fileSystemTypeVersion", "2.15"),
                ("perUnitStorageThroughput", "125"),
            ],
        ),
    ],
    // Mountpoint for S3 needs a role with rights to each bucket, which is the user's to make.
    buckets: None,
    // docs.aws.amazon.com/eks/latest/userguide/storage-classes.html: every cluster has it, and since 1.30 no default.
    classes: &["gp2"],
    has_default: false,
    // Its provisioner is the one in Kubernetes' own tree, which hands over to the driver for EBS; eksctl installs that
    // where it is asked to (docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html, from memory).
    classes_need: Some(EBS),
};

/// A file system of its own for each volume.
const fn lustre(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        subnet: Parameter::must("subnetId"),
        security_group: Parameter::must("securityGroupIds"),
        // Programs that lock files get an error otherwise.
        mount_options: &["flock"],
        addon: Some(FSX),
        ..VolumeType::share(name, "fsx.csi.aws.com", parameters, FSX_DOCS)
    }
}
