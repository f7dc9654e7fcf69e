//! The user's file, `gpu-cluster.yaml`, one module per top-level key.
//!
//! Doc comments here are the user's documentation: they become the descriptions in the JSON Schema, and what
//! `gpuc explain nodePools.sharing` prints. Every leaf that a diagnostic may point at is [`Spanned`]. There is no
//! `flatten`, `untagged` or internally tagged type: serde buffers those, and the places are lost.

mod admission;
mod alert_name;
mod charts;
mod cloud;
mod count_or_percent;
mod fragment;
mod gitops;
mod gpudirect;
mod kueue;
mod maintenance;
mod mirror;
mod monitoring;
mod notebooks;
mod pool;
mod quantity;
mod sharing;
mod stack;
mod storage;
mod teams;
mod texts;
mod workloads;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use admission::*;
pub use alert_name::AlertName;
pub use charts::*;
pub use cloud::*;
pub use count_or_percent::CountOrPercent;
pub use fragment::Fragment;
pub use gitops::*;
pub use gpudirect::*;
pub use kueue::*;
pub use maintenance::*;
pub use mirror::*;
pub use monitoring::*;
pub use notebooks::*;
pub use pool::*;
pub use quantity::*;
pub use sharing::*;
pub use stack::*;
pub use storage::*;
pub use teams::*;
pub use texts::{Text, texts};
pub use workloads::*;

use crate::Spanned;

/// The `apiVersion` of the file.
pub const API_VERSION: &str = "gpuc.dev/v1alpha1";

/// The `kind` of the file.
pub const KIND: &str = "GpuCluster";

/// Labels, taint values, tags: text by text, both with their places.
pub type TextMap = BTreeMap<Spanned<String>, Spanned<String>>;

/// One GPU cluster: its node pools, how their GPUs are shared, who may use them, what watches them and what runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "gpu-cluster.yaml")]
pub struct GpuCluster {
    /// The version of this format.
    pub api_version: Spanned<ApiVersion>,
    /// What the document describes.
    pub kind: Spanned<Kind>,
    /// What the cluster is called.
    pub metadata: Metadata,
    /// A file to start from, relative to this one. Maps merge deeply; `nodePools`, `teams` and `workloads` merge by
    /// `name`; `remove: true` in one of their items drops it; any other list is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["../base/gpu-cluster.yaml"]))]
    pub base: Option<Spanned<String>>,
    /// Warnings that are known and accepted, by their name or code. Errors cannot be allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["machine-unknown"]]))]
    pub allow: Vec<Spanned<String>>,
    /// The Kubernetes version.
    pub kubernetes: Kubernetes,
    /// Where the cluster runs: exactly one of `aws`, `gcp`, `azure` and `onPrem`.
    pub cloud: Spanned<CloudSection>,
    /// Who adds and removes nodes between a pool's `min` and `max`. It decides what can scale from zero. Default:
    /// `managed` where the cloud runs an autoscaler of its own (GKE, AKS), `none` elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaler: Option<Spanned<Autoscaler>>,
    /// Who installs the driver and who advertises GPUs, for every pool that does not say otherwise.
    #[serde(default)]
    pub stack: Stack,
    /// Classes of the volumes that pods ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Spanned<Storage>>,
    /// Groups of like nodes.
    #[schemars(length(min = 1))]
    pub node_pools: Vec<Spanned<NodePool>>,
    /// Who may use how much.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<Spanned<Team>>,
    /// How important pods are, in comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<Spanned<Priority>>,
    /// Who decides which job starts when quota is short.
    #[serde(default)]
    pub queueing: Spanned<Queueing>,
    /// How Kueue shares GPUs among teams. With `queueing: kueue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kueue: Option<Spanned<Kueue>>,
    /// What the API server says of pods that cannot run on this cluster's GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Spanned<Admission>>,
    /// Metrics, alerts and dashboards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Spanned<Monitoring>>,
    /// What runs on the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Spanned<Workload>>,
    /// Notebooks for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebooks: Option<Spanned<Notebooks>>,
    /// Helm charts by name: those to install beside what the rest asks for, and values of your own for any of them.
    #[serde(default, skip_serializing_if = "Charts::is_empty")]
    pub charts: Charts,
    /// Registries of your own to pull charts and images from.
    #[serde(default, skip_serializing_if = "Mirror::is_empty")]
    pub mirror: Mirror,
    /// What images must be, by their names with their tags as `gpuc catalog images` has them: a digest, `sha256:` and
    /// 64 hexadecimal digits. It is put behind the tag wherever the image is named.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    #[schemars(extend("examples" = [{"registry.k8s.io/kueue/kueue:v0.19.2":
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}]))]
    pub digests: TextMap,
    /// What brings the generated tree to the cluster. Without it, `install.sh` does, with helm and kubectl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitops: Option<Spanned<Gitops>>,
}

/// The version of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The first one, still moving.
    #[serde(rename = "gpuc.dev/v1alpha1")]
    V1Alpha1,
}

/// What a document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// One GPU cluster.
    GpuCluster,
}

/// What the cluster is called.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// The cluster's name: the folder of the generated tree, and the name in the cloud unless `cluster.existing` gives
    /// another. Lower-case letters, digits and `-`, starting with a letter, at most 40 characters.
    #[schemars(regex(pattern = r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"), extend("examples" = ["ml-prod"]))]
    pub name: Spanned<String>,
}

/// The Kubernetes version.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubernetes {
    /// Major and minor version, quoted, because YAML reads 1.30 as 1.3.
    #[schemars(regex(pattern = r"^1\.[0-9]{2}$"), extend("examples" = ["1.34"]))]
    pub version: Spanned<String>,
}

/// Who adds and removes nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Autoscaler {
    /// Nobody: each pool needs a fixed number of nodes.
    None,
    /// The Kubernetes Cluster Autoscaler, installed in the cluster. On EKS.
    ClusterAutoscaler,
    /// Karpenter, run in the cluster. On EKS. It makes the nodes of pools without a fixed number of them, from none on.
    ///
    /// A pool with a fixed number of nodes stays a node group, and one without GPUs must be there for Karpenter to run
    /// on. A node group that is there of a pool that becomes Karpenter's stays until you delete it.
    ///
    /// Karpenter never has more nodes of a pool than `max`, not even for a moment: while a pool is full, a node that
    /// differs from the file is replaced only after another went. Write a `max` of one more where that must not wait.
    /// An account that never used spot needs a role for it, once, before a pool with `capacity: {spot: {}}` gets nodes:
    /// `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`.
    Karpenter,
    /// The cloud's own autoscaler of node pools. On GKE and AKS.
    Managed,
}

/// Who decides which job starts when quota is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Queueing {
    /// Kubernetes' own ResourceQuota: what does not fit is refused.
    #[default]
    None,
    /// Kueue: what does not fit waits, teams lend and borrow.
    Kueue,
}

/// An empty mapping: `{}`. It leaves room for settings without changing what is written today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}
