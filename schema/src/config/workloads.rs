//! `workloads`: what runs on the cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Quantity, TextMap};
use crate::Spanned;

/// Something that runs on the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// Its name.
    pub name: Spanned<String>,
    /// The team whose namespace and quota it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Spanned<String>>,
    /// The pool it runs on. Default: every pool that can hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// A training run on several nodes, as a Kubeflow TrainJob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_job: Option<Spanned<TrainJob>>,
    /// A run to completion, as a Kubernetes Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Spanned<PodRun>>,
    /// A service, as a Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Spanned<PodRun>>,
}

/// A training run on several nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrainJob {
    /// The image.
    pub image: Spanned<String>,
    /// The command. Default: the image's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<Spanned<String>>,
    /// Its environment.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub env: TextMap,
    /// How many nodes.
    #[schemars(range(min = 1))]
    pub nodes: Spanned<u32>,
    /// How many GPUs on each.
    #[schemars(range(min = 1))]
    pub gpus_per_node: Spanned<u32>,
}

/// Pods that are all alike.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodRun {
    /// The image.
    pub image: Spanned<String>,
    /// The command. Default: the image's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<Spanned<String>>,
    /// Its environment.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub env: TextMap,
    /// How many pods.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub replicas: Spanned<u32>,
    /// How many GPUs, slices or shares for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Spanned<u32>>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Spanned<String>>,
    /// CPU cores for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
}

fn one() -> Spanned<u32> {
    Spanned::unwritten(1)
}
