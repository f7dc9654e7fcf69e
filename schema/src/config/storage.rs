//! `storage`: `StorageClasses` and volumes for pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// `StorageClasses` and volumes for pods. gpuc installs the CSI drivers that the cloud does not install itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Storage {
    /// The `StorageClasses` to create. An existing `StorageClass` is immutable: delete it before you change it; its
    /// volumes are not affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Spanned<StorageClass>>,
    /// Buckets that pods mount as directories. On GKE, with Cloud Storage FUSE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<Spanned<Bucket>>,
    /// The default `StorageClass`. Default: the cloud's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fast"]))]
    pub default: Option<Spanned<String>>,
}

/// A `StorageClass`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StorageClass {
    /// The name of the class, as used in `storageClassName`.
    #[schemars(extend("examples" = ["fast", "shared"]))]
    pub name: Spanned<String>,
    /// The kind of volumes that the class provides.
    pub volumes: Spanned<Volumes>,
    /// The reclaim policy: the action for a volume when its `PersistentVolumeClaim` is deleted.
    #[serde(default)]
    pub reclaim: Spanned<Reclaim>,
}

/// An existing bucket, as a volume for one `PersistentVolumeClaim`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bucket {
    /// The name of the volume and of the `PersistentVolumeClaim` that can bind it.
    #[schemars(extend("examples" = ["datasets"]))]
    pub name: Spanned<String>,
    /// The namespace of the `PersistentVolumeClaim`. Claims in other namespaces cannot bind the volume.
    #[schemars(extend("examples" = ["research"]))]
    pub namespace: Spanned<String>,
    /// The name of the bucket in the cloud.
    #[schemars(extend("examples" = ["acme-datasets"]))]
    pub bucket: Spanned<String>,
    /// Whether pods have read-only access.
    #[serde(default)]
    pub read_only: Spanned<bool>,
}

/// The kind of volumes that a class provides.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Volumes {
    /// Disks of the cloud, for one node at a time (`ReadWriteOnce`).
    Disk(Disk),
    /// Shared file systems, for many nodes at a time (`ReadWriteMany`).
    Files(Files),
}

/// Disks of the cloud.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// The cloud's name of the type. Default: `gp3` on EKS, `pd-balanced` on GKE, `Premium_LRS` on AKS.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    #[schemars(extend("examples" = ["gp3", "io2", "hyperdisk-balanced", "PremiumV2_LRS"]))]
    pub kind: Option<Spanned<String>>,
    /// Provisioned I/O operations per second, for types that support it. Default: the type's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub iops: Option<Spanned<u32>>,
    /// Provisioned throughput in MiB per second (MB on AKS), for types that support it. Default: the type's default.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "throughputMiB"
    )]
    #[schemars(range(min = 1))]
    pub throughput_mib: Option<Spanned<u32>>,
}

/// Shared file systems.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Files {
    /// The cloud's name of the type. Default: `efs` on EKS, `zonal` (Filestore) on GKE, `Premium_LRS` (Azure Files) on
    /// AKS. `SCRATCH_2` and `PERSISTENT_2` are file systems of FSx for Lustre, `blob-nfs` and `blob-fuse` containers of
    /// Azure Blob Storage.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    #[schemars(extend("examples" = ["efs", "SCRATCH_2", "enterprise", "Premium_LRS", "blob-nfs"]))]
    pub kind: Option<Spanned<String>>,
    /// The ID of an existing file system. Required for EFS, where volumes are directories of one file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fs-0123456789abcdef0"]))]
    pub id: Option<Spanned<String>>,
    /// The subnet in which a file system is created for each volume. For FSx for Lustre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["subnet-0123456789abcdef0"]))]
    pub subnet: Option<Spanned<String>>,
    /// The security group of that file system. It must allow traffic from the nodes on TCP ports 988 and 1018 to 1023.
    /// For FSx for Lustre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["sg-0123456789abcdef0"]))]
    pub security_group: Option<Spanned<String>>,
}

/// The reclaim policy: the action for a volume when its `PersistentVolumeClaim` is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reclaim {
    /// The volume and its data are deleted.
    #[default]
    Delete,
    /// The volume and its data are kept until you delete them.
    Retain,
}
