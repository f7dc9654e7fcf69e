//! DaemonSets, which run a pod on each node.

use serde::Deserialize;

use super::meta::Metadata;
use super::null_as_default;
use super::pod::PodSpec;

/// A DaemonSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSet {
    /// The metadata.
    pub metadata: Metadata,
    /// The specification.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: DaemonSetSpec,
    /// The status.
    #[serde(deserialize_with = "null_as_default")]
    pub status: DaemonSetStatus,
}

/// The specification of a DaemonSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetSpec {
    /// The template of its pods.
    #[serde(deserialize_with = "null_as_default")]
    pub template: PodTemplate,
}

/// The template of the pods of a DaemonSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTemplate {
    /// The metadata.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// The specification.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
}

/// The status of a DaemonSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus {
    /// The number of nodes that should run a pod.
    #[serde(deserialize_with = "null_as_default")]
    pub desired_number_scheduled: u32,
    /// The number of nodes with a pod that is ready.
    #[serde(deserialize_with = "null_as_default")]
    pub number_ready: u32,
}
