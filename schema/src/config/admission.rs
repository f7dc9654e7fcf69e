//! `admission`: admission policies for pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// Admission policies for pods that cannot run on this cluster's GPUs, and for pods that use GPUs without requesting
/// them. gpuc generates Kubernetes `ValidatingAdmissionPolicies` from the pools. If unset, gpuc generates none. The
/// policies validate pods, and workload resources when they are created or their pod template changes: Deployments,
/// `StatefulSets`, `DaemonSets`, `ReplicaSets`, Jobs and `CronJobs`. They do not affect running pods. They protect
/// against mistakes, not against malicious users. If a policy cannot be evaluated, the API server rejects the pod under
/// `enforce`, and otherwise returns a warning.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Admission {
    /// The action for a pod that cannot run.
    #[serde(default)]
    pub guard: Spanned<Guard>,
    /// Namespaces that the policies ignore. The policies apply to the teams' namespaces. In a cluster without teams,
    /// they apply to all namespaces except those of Kubernetes, of charts and of gpuc.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sandbox"]]))]
    pub exempt: Vec<Spanned<String>>,
}

/// The action for a pod that cannot run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Guard {
    /// The API server returns a warning to the client and records the violation in its audit log.
    #[default]
    Warn,
    /// The API server rejects the pod. For a pod that can run but uses GPUs that it does not request, it still only
    /// returns a warning.
    Enforce,
}
