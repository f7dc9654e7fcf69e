//! The configuration file `gpu-cluster.yaml`, one module per top-level key.
//!
//! Doc comments here are the user's documentation: they become the descriptions in the JSON Schema and the text of
//! `gpuc explain nodePools.sharing`. Every leaf that a diagnostic may point at is [`Spanned`]. No type uses `flatten`,
//! `untagged` or internal tagging: serde buffers those and loses the spans.

mod admission;
mod alert_name;
mod charts;
mod cloud;
mod cloud_access;
mod cloud_azure;
mod cloud_control_plane;
mod cloud_existing;
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
pub use cloud_access::*;
pub use cloud_azure::*;
pub use cloud_control_plane::*;
pub use cloud_existing::*;
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
pub use texts::{Text, all_texts};
pub use workloads::*;

use crate::Spanned;

/// The `apiVersion` of the file.
pub const API_VERSION: &str = "gpuc.dev/v1alpha1";

/// The `kind` of the file.
pub const KIND: &str = "GpuCluster";

/// A map of strings, such as labels or tags. Keys and values have spans.
pub type TextMap = BTreeMap<Spanned<String>, Spanned<String>>;

/// One GPU cluster: node pools, GPU sharing, teams and quotas, monitoring, and workloads.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "gpu-cluster.yaml")]
pub struct GpuCluster {
    /// The API version of this file format.
    pub api_version: Spanned<ApiVersion>,
    /// The kind of object that this file describes.
    pub kind: Spanned<Kind>,
    /// The identity of the cluster.
    pub metadata: Metadata,
    /// The base file that this file extends, as a path relative to this file. Mappings are merged deeply. The lists
    /// `nodePools`, `teams` and `workloads` are merged by `name`; `remove: true` in an item deletes it. Any other list
    /// is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["../base/gpu-cluster.yaml"]))]
    pub base: Option<Spanned<String>>,
    /// Accepted warnings, by name or code. gpuc does not report them. The only errors that can be allowed are about
    /// names that may be newer than gpuc's tables, such as `machine-mistyped`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["machine-unknown"]]))]
    pub allow: Vec<Spanned<String>>,
    /// The Kubernetes version.
    pub kubernetes: Kubernetes,
    /// The platform that the cluster runs on: exactly one of `aws`, `gcp`, `azure`, `onPrem` and `existing`.
    pub cloud: Spanned<CloudSection>,
    /// The autoscaler that adds and removes nodes between a pool's `min` and `max`. It determines which pools can scale
    /// from zero. Default: `managed` if the cloud has its own autoscaler (GKE, AKS), otherwise `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaler: Option<Spanned<Autoscaler>>,
    /// The components that install the driver and advertise GPUs. A pool can override each setting.
    #[serde(default)]
    pub stack: Stack,
    /// `StorageClasses` and volumes for pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Spanned<Storage>>,
    /// Groups of identical nodes.
    #[schemars(length(min = 1))]
    pub node_pools: Vec<Spanned<NodePool>>,
    /// The teams that share the cluster, and their quotas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<Spanned<Team>>,
    /// The priority classes of pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<Spanned<Priority>>,
    /// The component that decides which job starts when a quota is exhausted.
    #[serde(default)]
    pub queueing: Spanned<Queueing>,
    /// How Kueue shares GPUs among teams. Requires `queueing: kueue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kueue: Option<Spanned<Kueue>>,
    /// Admission policies for pods that cannot run on this cluster's GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Spanned<Admission>>,
    /// Metrics, alerts and dashboards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Spanned<Monitoring>>,
    /// The workloads that run on the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Spanned<Workload>>,
    /// Interactive notebooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebooks: Option<Spanned<Notebooks>>,
    /// Helm charts by name: additional charts to install, and your own values for any chart.
    #[serde(default, skip_serializing_if = "Charts::is_empty")]
    pub charts: Charts,
    /// Private registries to pull charts and images from.
    #[serde(default, skip_serializing_if = "Mirror::is_empty")]
    pub mirror: Mirror,
    /// Image digests. A key is an image with its tag, as listed by `gpuc catalog images`. A value is `sha256:` followed
    /// by 64 hexadecimal digits. gpuc appends the digest to the tag wherever it uses the image.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    #[schemars(extend("examples" = [{"registry.k8s.io/kueue/kueue:v0.19.2":
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}]))]
    pub digests: TextMap,
    /// The GitOps controller that deploys the generated tree. If unset, `install.sh` deploys it with helm and kubectl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitops: Option<Spanned<Gitops>>,
}

/// The API version of this file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The first version. It can still change incompatibly.
    #[serde(rename = "gpuc.dev/v1alpha1")]
    V1Alpha1,
}

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// One GPU cluster.
    GpuCluster,
}

/// The identity of the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// The cluster's name. It names the folder of the generated tree and, unless `cluster.existing.name` is set, the
    /// cluster in the cloud. Lower-case letters, digits and `-`, starting with a letter, at most 40 characters.
    #[schemars(regex(pattern = r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"), extend("examples" = ["ml-prod"]))]
    pub name: Spanned<String>,
}

/// The Kubernetes version.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubernetes {
    /// The major and minor version. Quote it, because YAML reads 1.30 as 1.3.
    #[schemars(regex(pattern = r"^1\.[0-9]{2}$"), extend("examples" = ["1.36"]))]
    pub version: Spanned<String>,
}

/// The component that adds and removes nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Autoscaler {
    /// No autoscaler: each pool needs a fixed number of nodes.
    None,
    /// The Kubernetes Cluster Autoscaler, installed in the cluster. On EKS.
    ClusterAutoscaler,
    /// Karpenter, installed in the cluster. On EKS. It creates the nodes of pools without a fixed number of nodes, and
    /// can scale them from zero. A pool with a fixed number of nodes remains a node group. Karpenter itself needs such
    /// a pool without GPUs to run on. If Karpenter takes over a pool that has a node group, the node group remains
    /// until you delete it. Karpenter never exceeds a pool's `max`, not even temporarily. While a pool is at `max`,
    /// Karpenter replaces a drifted node only after another node is removed. To avoid this wait, increase `max` by one.
    /// An AWS account that has never used Spot needs a service-linked role before a pool with `capacity: {spot: {}}`
    /// gets nodes: `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`.
    Karpenter,
    /// The cloud's own node pool autoscaler. On GKE and AKS.
    Managed,
}

/// The component that decides which job starts when a quota is exhausted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Queueing {
    /// Kubernetes ResourceQuota: pods that exceed the quota are rejected.
    #[default]
    None,
    /// Kueue: jobs that exceed the quota wait in a queue; teams can lend and borrow quota.
    Kueue,
}

/// An empty mapping: `{}`. Settings can be added later without breaking existing files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}
