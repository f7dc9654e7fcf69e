//! `admission`: what the API server says of pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// What the API server says of pods that cannot run on this cluster's GPUs, and of those that take GPUs without asking:
/// admission policies of Kubernetes' own, made from the pools. Without this key there are none.
///
/// They look at pods, and at what makes pods when it is made or its pods change: Deployments, `StatefulSets`,
/// `DaemonSets`, `ReplicaSets`, Jobs and `CronJobs`. What runs already is left alone. They guard against mistakes, not
/// against people who mean it: a policy that cannot be evaluated lets the pod pass.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Admission {
    /// What becomes of a pod that cannot run.
    #[serde(default)]
    pub guard: Spanned<Guard>,
    /// Namespaces that the policies leave alone. They look at the teams' namespaces; in a cluster without teams at all
    /// but Kubernetes' own and those of charts and of gpuc.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sandbox"]]))]
    pub exempt: Vec<Spanned<String>>,
}

/// What becomes of a pod that cannot run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// Whoever makes it is warned, and the API server's audit log has it.
    #[default]
    Warn,
    /// It is refused. What would run, but takes what it did not ask for, is still only warned about.
    Enforce,
}
