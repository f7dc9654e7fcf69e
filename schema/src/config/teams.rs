//! `teams`: who may use how much.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// People who share namespaces and a quota.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Team {
    /// The team's name.
    #[schemars(extend("examples" = ["research"]))]
    pub name: Spanned<String>,
    /// The team's namespaces. Default: one called like the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["research", "research-dev"]]))]
    pub namespaces: Vec<Spanned<String>>,
    /// Who belongs to the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Spanned<Member>>,
    /// How much the team may use. With `queueing: kueue` jobs are counted over all of the team's namespaces; else a
    /// quota counts one namespace, and a team with several says it for each of them, in `namespaceQuotas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Spanned<Quota>>,
    /// How much each of the team's namespaces may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespace_quotas: Vec<Spanned<NamespaceQuota>>,
    /// How much of what is idle the team gets in comparison with other teams that want it. With `kueue.fairSharing`.
    /// Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<Spanned<u32>>,
    /// What a container gets that does not say, and the most that one may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Spanned<Limits>>,
    /// What the team's pods may do, by Kubernetes' Pod Security Standards.
    #[serde(default)]
    pub pod_security: Spanned<PodSecurityLevel>,
    /// Whom the team's pods may talk to.
    #[serde(default)]
    pub network: Spanned<TeamNetwork>,
}

/// Somebody who belongs to a team, as the API server knows them: exactly one of `group`, `user` and `serviceAccount`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// A group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["research@acme.dev"]))]
    pub group: Option<Spanned<String>>,
    /// A user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["ada@acme.dev"]))]
    pub user: Option<Spanned<String>>,
    /// A service account, as namespace and name: `tools:ci`. Without a namespace, of the team's first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["tools:ci"]))]
    pub service_account: Option<Spanned<String>>,
    /// What they may do in the team's namespaces.
    #[serde(default)]
    pub role: Spanned<Role>,
}

/// What somebody may do in a team's namespaces.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// See what runs, and its logs: Kubernetes' own `view`, and the jobs of the cluster's charts.
    View,
    /// What `view` may, and start and stop jobs and pods, with the volumes, settings and services they need. Not
    /// enter running containers, and not read secrets but by a pod that mounts them.
    #[default]
    Submit,
    /// Everything within the namespaces, secrets and roles among it, but for quotas: Kubernetes' own `admin`, and the
    /// jobs of the cluster's charts.
    Admin,
}

/// What the pods of a namespace may do: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodSecurityLevel {
    /// Anything: with it, whoever starts a pod has the node.
    Privileged,
    /// What most programs ask for; nothing that is known to lead out of a container.
    #[default]
    Baseline,
    /// As little as programs can do with: no root, no capabilities.
    Restricted,
}

/// Whom the pods of a team may talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TeamNetwork {
    /// Everybody, and everybody to them.
    #[default]
    Open,
    /// Pods of the team's namespaces and the cluster's DNS; the monitoring may read their metrics. Network policies of
    /// your own open more. The network of a cluster that gpuc makes enforces them; of any other, see whether it does.
    Isolated,
}

/// How much may be used.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quota {
    /// GPUs, slices and shares. Once there is an entry, what has none may not be used. Without any, nothing is limited;
    /// but with `queueing: kueue` jobs get none, because a queue gives only what it has a quota of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Spanned<GpuQuota>>,
    /// CPU cores that pods ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [400]))]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory that pods ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["4Ti"]))]
    pub memory: Option<Spanned<Quantity>>,
    /// Pods that have not ended; with `queueing: kueue` those of jobs, over all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<Spanned<u32>>,
    /// The sizes of all volumes that are claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10Ti"]))]
    pub storage: Option<Spanned<Quantity>>,
}

/// How much one of a team's namespaces may use.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceQuota {
    /// The namespace, one of the team's.
    pub namespace: Spanned<String>,
    /// How much of everything.
    pub quota: Quota,
}

/// How much of a pool's GPUs may be used: `shares` where containers share GPUs, `guaranteed` elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuQuota {
    /// The pool.
    pub pool: Spanned<String>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["3g.20gb"]))]
    pub profile: Option<Spanned<String>>,
    /// GPUs or slices that are kept for the team: no pool may be promised twice, see `nodePools.overcommit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<Spanned<u32>>,
    /// GPUs, slices or shares that the team may have when others leave them idle. Default: as many as are guaranteed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Spanned<u32>>,
    /// How many of those that are kept for the team others may borrow while it leaves them idle. With `queueing:
    /// kueue`. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lend: Option<Spanned<u32>>,
    /// Shares that are kept for the team, on a pool with time-slicing or MPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Spanned<u32>>,
}

/// What a container gets that does not say, and the most that one may ask for: a `LimitRange`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// What is kept for a container that does not say what it asks for. Default: 500m and 1Gi of what a quota counts,
    /// because a pod that does not say it is refused there; nothing of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_request: Option<Amounts>,
    /// The most that a container uses which does not say it. Default: `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Amounts>,
    /// The most that a container may ask for and use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Amounts>,
    /// The most GPUs that a container may ask for; on a pool whose GPUs are cut or shared, slices or shares. Each kind
    /// counts by itself. Where a `LimitRange` would do harm, with `queueing: kueue` and on some clouds, `admission`
    /// holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000), extend("examples" = [4]))]
    pub gpus_per_container: Option<Spanned<u32>>,
}

/// Amounts of CPU and memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Amounts {
    /// CPU cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["500m"]))]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1Gi"]))]
    pub memory: Option<Spanned<Quantity>>,
}

/// How important pods are: a `PriorityClass`. Kubernetes does not let its `value` and `preempts` change: Flux and
/// Argo CD make the class anew then, else delete it by hand first. Pods that are there keep what they had.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Priority {
    /// What pods write as their `priorityClassName`.
    #[schemars(extend("examples" = ["production"]))]
    pub name: Spanned<String>,
    /// Higher goes first. Pods of no class have 0.
    #[schemars(range(min = -2_147_483_648_i64, max = 1_000_000_000), extend("examples" = [1000]))]
    pub value: Spanned<i32>,
    /// Whether pods of a lower value are evicted where these find no room.
    #[serde(default = "preempts")]
    pub preempts: Spanned<bool>,
    /// Whether pods that name no class have this one. At most one.
    #[serde(default)]
    pub default: Spanned<bool>,
    /// What it is for, for whoever chooses among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Spanned<String>>,
}

fn preempts() -> Spanned<bool> {
    Spanned::unwritten(true)
}
