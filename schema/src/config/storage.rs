//! `storage`: classes of the volumes that pods ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// Classes of the volumes that pods ask for. What provides them is installed where the cloud does not bring it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Storage {
    /// The classes to make. Kubernetes changes no class that is there: delete it first, volumes stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Spanned<StorageClass>>,
    /// Buckets that pods mount as folders. On GKE, by Cloud Storage FUSE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<Spanned<Bucket>>,
    /// The one of them that a volume is of when it names none. Default: what the cloud has made so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fast"]))]
    pub default: Option<Spanned<String>>,
}

/// A class of volumes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StorageClass {
    /// Its name, as volume claims write it.
    #[schemars(extend("examples" = ["fast", "shared"]))]
    pub name: Spanned<String>,
    /// What its volumes are.
    pub volumes: Spanned<Volumes>,
    /// What becomes of a volume whose claim is deleted.
    #[serde(default)]
    pub reclaim: Spanned<Reclaim>,
}

/// A bucket that is there, as a volume for one claim.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bucket {
    /// The name of the volume, and of the claim that may have it.
    #[schemars(extend("examples" = ["datasets"]))]
    pub name: Spanned<String>,
    /// The namespace of the claim; claims in other namespaces cannot have the volume.
    #[schemars(extend("examples" = ["research"]))]
    pub namespace: Spanned<String>,
    /// The bucket, as the cloud calls it.
    #[schemars(extend("examples" = ["acme-datasets"]))]
    pub bucket: Spanned<String>,
    /// Whether pods can only read it.
    #[serde(default)]
    pub read_only: Spanned<bool>,
}

/// What the volumes of a class are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Volumes {
    /// Disks of the cloud: one node at a time.
    Disk(Disk),
    /// Shares of a file system: many nodes at a time.
    Files(Files),
}

/// Disks of the cloud.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// The type, as the cloud calls it. Default: `gp3` on EKS, `pd-balanced` on GKE, `Premium_LRS` on AKS.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    #[schemars(extend("examples" = ["gp3", "io2", "hyperdisk-balanced", "PremiumV2_LRS"]))]
    pub kind: Option<Spanned<String>>,
    /// Reads and writes a second, for types that sell them apart. Default: what comes with the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub iops: Option<Spanned<u32>>,
    /// Throughput in MiB a second (MB on AKS), for types that sell it apart. Default: what comes with the type.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "throughputMiB"
    )]
    #[schemars(range(min = 1))]
    pub throughput_mib: Option<Spanned<u32>>,
}

/// Shares of a file system.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Files {
    /// The type, as the cloud calls it. Default: `efs` on EKS, `zonal` (Filestore) on GKE, `Premium_LRS` (Azure Files)
    /// on AKS. `SCRATCH_2` and `PERSISTENT_2` are file systems of FSx for Lustre, `blob-nfs` and `blob-fuse` containers
    /// of Azure Blob Storage.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    #[schemars(extend("examples" = ["efs", "SCRATCH_2", "enterprise", "Premium_LRS", "blob-nfs"]))]
    pub kind: Option<Spanned<String>>,
    /// The file system that holds the shares, where the cloud does not make one for each volume: EFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fs-0123456789abcdef0"]))]
    pub id: Option<Spanned<String>>,
    /// The subnet that a volume's own file system is made in: FSx for Lustre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["subnet-0123456789abcdef0"]))]
    pub subnet: Option<Spanned<String>>,
    /// The security group of that file system; it must let the nodes in: FSx for Lustre, TCP 988 and 1018 to 1023.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["sg-0123456789abcdef0"]))]
    pub security_group: Option<Spanned<String>>,
}

/// What becomes of a volume whose claim is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reclaim {
    /// It is deleted with what is on it.
    #[default]
    Delete,
    /// It stays until somebody deletes it.
    Retain,
}
