//! Volumes of workloads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// A volume at its place in a container.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedVolume {
    /// Its name.
    #[schemars(extend("examples" = ["data"]))]
    pub name: Spanned<String>,
    /// Where containers see it: an absolute path.
    #[schemars(extend("examples" = ["/data"]))]
    pub mount_path: Spanned<String>,
    /// What it is.
    pub from: Spanned<VolumeFrom>,
    /// Whether it may only be read.
    #[serde(default)]
    pub read_only: Spanned<bool>,
}

/// What a volume is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VolumeFrom {
    /// A `PersistentVolumeClaim` that is there, by its name.
    ExistingClaim(Spanned<String>),
    /// A claim that gpuc makes. It stays when the workload leaves the file; a `StatefulSet` has one for each pod.
    Claim(VolumeClaim),
    /// The entries of a `ConfigMap` as files.
    ConfigMap(Spanned<String>),
    /// The entries of a Secret as files.
    Secret(Spanned<String>),
    /// Room on the node's own disk, for as long as the pod lives.
    Scratch(Scratch),
}

/// A claim of a volume.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeClaim {
    /// Its size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// Its `StorageClass`, one of `storage` or another of the cluster. A class of files is for many nodes at a time,
    /// any other for one. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fast"]))]
    pub class: Option<Spanned<String>>,
}

/// Room on the node's own disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scratch {
    /// How much at the most, in GiB. Default: what the disk has.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Option<Spanned<u32>>,
}
