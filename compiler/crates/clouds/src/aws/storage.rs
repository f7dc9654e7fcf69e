//! Volume types of EKS: EBS disks, EFS shares and FSx for Lustre file systems. Their CSI drivers are EKS add-ons.

use gpuc_model::cloud::storage::{Parameter, StorageFacts, VolumeType};

/// The add-on with the driver for EBS.
const EBS: &str = "aws-ebs-csi-driver";

/// The add-on with the driver for EFS.
const EFS: &str = "aws-efs-csi-driver";

/// The add-on with the driver for FSx for Lustre.
const FSX: &str = "aws-fsx-csi-driver";

const EBS_DOCS: &str = "kubernetes-sigs/aws-ebs-csi-driver@038816d9 docs/parameters.md";
const EFS_DOCS: &str = "kubernetes-sigs/aws-efs-csi-driver@1009c75e docs/parameters.md";

/// The names of the parameters are those in the driver's `pkg/driver/controller.go`; the add-on gets its role through
/// pod identity (docs.aws.amazon.com/eks/latest/userguide/fsx-csi-create.html). Version 2.15 supports all deployment
/// types and is recommended (AWS SDK for Kotlin, `CreateFileSystemRequest.fileSystemTypeVersion`); 125 MB/s per TiB is
/// the minimum of `PERSISTENT_2` (from memory). 2026-11-21.
const FSX_DOCS: &str =
    "kubernetes-sigs/aws-fsx-csi-driver@06268a45 examples/kubernetes/dynamic_provisioning";

/// The volume types.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        VolumeType {
            iops: Parameter::optional("iops"),
            throughput: Parameter::optional("throughput"),
            addon: Some(EBS),
            ..VolumeType::disk(
                "gp3",
                "ebs.csi.aws.com",
                &[("encrypted", "true"), ("type", "gp3")],
                EBS_DOCS,
            )
        },
        VolumeType {
            iops: Parameter::required("iops"),
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
            id: Parameter::required("fileSystemId"),
            // A share of a file system has no size.
            is_expandable: false,
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
    // Mountpoint for S3 needs a role with permissions for each bucket, which the user must create.
    buckets: None,
    // docs.aws.amazon.com/eks/latest/userguide/storage-classes.html: every cluster has it; it is not the default since
    // 1.30.
    classes: &["gp2"],
    has_default: false,
    // Its provisioner is the in-tree one, which Kubernetes redirects to the EBS CSI driver; eksctl installs the driver
    // only on request (docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html, from memory).
    classes_addon: Some(EBS),
};

/// A volume type with a separate file system for each volume.
const fn lustre(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        subnet: Parameter::required("subnetId"),
        security_group: Parameter::required("securityGroupIds"),
        // Without `flock`, programs that lock files get an error.
        mount_options: &["flock"],
        addon: Some(FSX),
        ..VolumeType::share(name, "fsx.csi.aws.com", parameters, FSX_DOCS)
    }
}
