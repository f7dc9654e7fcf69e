//! `kueue`: how Kueue shares GPUs among teams.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// How Kueue shares GPUs among teams. Requires `queueing: kueue`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kueue {
    /// The order of jobs within a team. With `bestEffortFifo`, a later job that fits can start first; with
    /// `strictFifo`, no job overtakes the oldest one.
    #[serde(default)]
    pub order: Spanned<QueueOrder>,
    /// Which jobs Kueue preempts when a team needs its guaranteed quota that other teams have borrowed.
    #[serde(default)]
    pub reclaim: Spanned<Reclaiming>,
    /// Which jobs of the same team a job can preempt.
    #[serde(default)]
    pub preempt: Spanned<Preempting>,
    /// Whether idle quota is shared among teams by `teams[].weight`, instead of first come, first served.
    #[serde(default)]
    pub fair_sharing: Spanned<bool>,
    /// Kinds of jobs that Kueue manages in addition to its default integrations. The defaults are always enabled:
    /// Kubernetes Jobs, `JobSet`, `LeaderWorkerSet`, Kubeflow Trainer and Training Operator, MPI, Ray and `AppWrapper`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sparkApplication"]]))]
    pub job_kinds: Vec<Spanned<QueuedKind>>,
    /// Topology-aware scheduling of jobs on certain pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Spanned<QueueTopology>>,
}

/// A kind of job that Kueue supports but does not enable by default.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum QueuedKind {
    /// `sparkoperator.k8s.io` `SparkApplication`. Its support in Kueue is alpha: gpuc enables the feature gate.
    SparkApplication,
}

/// The order of jobs within a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QueueOrder {
    /// By priority, then age. Later jobs can start before a job that does not fit yet.
    #[default]
    BestEffortFifo,
    /// By priority, then age. A job that does not fit yet blocks the jobs behind it.
    StrictFifo,
}

/// The jobs that can be preempted to reclaim guaranteed GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reclaiming {
    /// All jobs on borrowed GPUs.
    #[default]
    Any,
    /// Jobs on borrowed GPUs with a lower priority.
    LowerPriority,
    /// None: the team waits until the jobs end.
    Never,
}

/// The jobs of its own team that a job can preempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Preempting {
    /// Jobs with a lower priority.
    #[default]
    LowerPriority,
    /// Jobs with a lower priority, and newer jobs with the same priority.
    LowerOrNewerEqualPriority,
    /// None.
    Never,
}

/// Pools with Kueue's topology-aware scheduling, which places the pods of a job by network topology. A job can run on
/// these pools only if its pods have the annotation `kueue.x-k8s.io/podset-preferred-topology` or
/// `podset-required-topology` with one of the levels, or `podset-unconstrained-topology: "true"`. gpuc adds it to the
/// workloads of the file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueTopology {
    /// The pools. They need a fixed number of nodes, because Kueue counts only existing nodes.
    #[schemars(length(min = 1))]
    pub pools: Vec<Spanned<String>>,
    /// Node labels that describe the topology, from the widest network domain to the node itself. Default: the cloud's
    /// topology labels, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("examples" = [["example.com/rack", "kubernetes.io/hostname"]]))]
    pub levels: Vec<Spanned<String>>,
}
