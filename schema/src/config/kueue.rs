//! `kueue`: how Kueue shares GPUs among teams.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// How Kueue shares GPUs among teams. With `queueing: kueue`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kueue {
    /// Whose job goes first within a team: `bestEffortFifo` lets a later job start that fits, `strictFifo` lets
    /// nothing pass the oldest.
    #[serde(default)]
    pub order: Spanned<QueueOrder>,
    /// Whether a team that needs what is guaranteed to it takes it back from jobs of teams that borrowed it.
    #[serde(default)]
    pub reclaim: Spanned<Reclaiming>,
    /// Whether a job takes the place of others of its team.
    #[serde(default)]
    pub preempt: Spanned<Preempting>,
    /// Whether teams that want more than is guaranteed to them share what is idle by `teams[].weight`, instead of who
    /// comes first.
    #[serde(default)]
    pub fair_sharing: Spanned<bool>,
    /// Kinds of jobs that wait in queues beside those that Kueue has ready. Those wait anyway: the jobs of Kubernetes,
    /// `JobSet`, `LeaderWorkerSet`, Kubeflow's Trainer and Training Operator, MPI, Ray and `AppWrapper`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sparkApplication"]]))]
    pub job_kinds: Vec<Spanned<QueuedKind>>,
    /// Pools whose jobs are placed by how their nodes are wired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Spanned<QueueTopology>>,
}

/// A kind of jobs that Kueue knows and does not have ready.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum QueuedKind {
    /// `sparkoperator.k8s.io` `SparkApplication`, of which Kueue's support is alpha: gpuc turns on its feature gate.
    SparkApplication,
}

/// Whose job goes first within a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QueueOrder {
    /// By priority, then age; a job that does not fit yet lets those behind it pass.
    #[default]
    BestEffortFifo,
    /// By priority, then age; a job that does not fit yet holds those behind it back.
    StrictFifo,
}

/// Who is taken guaranteed GPUs back from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reclaiming {
    /// Any job that runs on borrowed GPUs.
    #[default]
    Any,
    /// Jobs on borrowed GPUs whose priority is lower.
    LowerPriority,
    /// Nobody: the team waits until they end.
    Never,
}

/// Whose place a job takes within its team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Preempting {
    /// Jobs of the team whose priority is lower.
    #[default]
    LowerPriority,
    /// These, and newer ones of the same priority.
    LowerOrNewerEqualPriority,
    /// Nobody's.
    Never,
}

/// Pools whose jobs are placed by how their nodes are wired: Kueue's topology-aware scheduling. A job gets onto them
/// only when its pods have the annotation `kueue.x-k8s.io/podset-preferred-topology` or `podset-required-topology`,
/// with one of the levels, or `podset-unconstrained-topology: "true"`. The workloads of the file have it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueTopology {
    /// The pools. Kueue counts the nodes that are there, so that they need a fixed number of nodes.
    #[schemars(length(min = 1))]
    pub pools: Vec<Spanned<String>>,
    /// Labels of the nodes that say where each is, from the widest part of the network to the node itself. Default:
    /// those of the cloud, where it has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("examples" = [["example.com/rack", "kubernetes.io/hostname"]]))]
    pub levels: Vec<Spanned<String>>,
}
