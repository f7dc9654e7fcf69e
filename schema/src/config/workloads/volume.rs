//! Volumes of workloads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// A volume and its mount path in a container.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedVolume {
    /// The name of the volume.
    #[schemars(extend("examples" = ["data"]))]
    pub name: Spanned<String>,
    /// The mount path in containers: an absolute path.
    #[schemars(extend("examples" = ["/data"]))]
    pub mount_path: Spanned<String>,
    /// The source of the volume.
    pub from: Spanned<VolumeFrom>,
    /// Whether the volume is mounted read-only.
    #[serde(default)]
    pub read_only: Spanned<bool>,
}

/// The source of a volume.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VolumeFrom {
    /// The name of an existing `PersistentVolumeClaim`.
    ExistingClaim(Spanned<String>),
    /// A `PersistentVolumeClaim` that gpuc creates. It is kept when you remove the workload from the file. A
    /// `StatefulSet` has one claim per pod.
    Claim(VolumeClaim),
    /// The entries of a ConfigMap as files.
    ConfigMap(Spanned<String>),
    /// The entries of a Secret as files.
    Secret(Spanned<String>),
    /// Temporary space on the node's disk, for the lifetime of the pod.
    Scratch(Scratch),
}

/// A `PersistentVolumeClaim`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeClaim {
    /// The requested size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// The `StorageClass`: one of `storage.classes`, or another class of the cluster. With a class of shared file
    /// systems, the volume is `ReadWriteMany`, otherwise `ReadWriteOnce`. Default: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fast"]))]
    pub class: Option<Spanned<String>>,
}

/// Temporary space on the node's disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scratch {
    /// The maximum size in GiB. Default: the free space of the disk.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Option<Spanned<u32>>,
}
