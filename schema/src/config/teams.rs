//! `teams`: teams, their members and quotas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// A team: members who share namespaces and a quota.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Team {
    /// The team's name.
    #[schemars(extend("examples" = ["research"]))]
    pub name: Spanned<String>,
    /// The team's namespaces. Default: one namespace with the team's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["research", "research-dev"]]))]
    pub namespaces: Vec<Spanned<String>>,
    /// The members of the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Spanned<Member>>,
    /// The team's quota. With `queueing: kueue`, it covers the jobs in all of the team's namespaces. Otherwise a quota
    /// covers one namespace; a team with several namespaces sets `namespaceQuotas` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Spanned<Quota>>,
    /// A quota for each of the team's namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespace_quotas: Vec<Spanned<NamespaceQuota>>,
    /// The team's weight when idle quota is shared among teams. Requires `kueue.fairSharing`. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<Spanned<u32>>,
    /// Default resources and maximum resources of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Spanned<Limits>>,
    /// The Pod Security Standard that applies to the team's pods.
    #[serde(default)]
    pub pod_security: Spanned<PodSecurityLevel>,
    /// The network access of the team's pods.
    #[serde(default)]
    pub network: Spanned<TeamNetwork>,
}

/// A member of a team, as known to the API server: exactly one of `group`, `user` and `serviceAccount`.
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
    /// A ServiceAccount, as namespace and name: `tools:ci`. Without a namespace, a ServiceAccount in the team's first
    /// namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["tools:ci"]))]
    pub service_account: Option<Spanned<String>>,
    /// The member's role in the team's namespaces.
    #[serde(default)]
    pub role: Spanned<Role>,
}

/// A role in a team's namespaces.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Read access to workloads and logs: the Kubernetes role `view`, extended to the job kinds of the cluster's
    /// charts.
    View,
    /// The permissions of `view`, and creating and deleting jobs and pods with the volumes, ConfigMaps and services
    /// that they need. It does not allow `kubectl exec`, and no access to Secrets except by mounting them in a pod.
    #[default]
    Submit,
    /// Full access to the namespaces, including Secrets and roles but not quotas: the Kubernetes role `admin`, extended
    /// to the job kinds of the cluster's charts.
    Admin,
}

/// A Pod Security Standard: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodSecurityLevel {
    /// Unrestricted. Anyone who can create a pod can take over the node.
    Privileged,
    /// Minimally restrictive: allows most programs, prevents known privilege escalations.
    #[default]
    Baseline,
    /// Heavily restricted: no root user, no capabilities.
    Restricted,
}

/// The network access of a team's pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TeamNetwork {
    /// Unrestricted traffic from and to the pods.
    #[default]
    Open,
    /// Traffic only within the team's namespaces and to the cluster's DNS; Prometheus can scrape the pods' metrics.
    /// Your own network policies can allow more. Clusters that gpuc creates enforce network policies; for an existing
    /// cluster, check that its network plugin does.
    Isolated,
}

/// A quota.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quota {
    /// Quotas of GPUs, MIG devices and replicas. If there is at least one entry, resources without an entry cannot be
    /// used. If there is none, GPUs are not limited; but with `queueing: kueue` jobs get no GPUs, because a queue
    /// admits only resources that it has a quota for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Spanned<GpuQuota>>,
    /// The total of the pods' CPU requests, in cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [400]))]
    pub cpu: Option<Spanned<Quantity>>,
    /// The total of the pods' memory requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["4Ti"]))]
    pub memory: Option<Spanned<Quantity>>,
    /// The number of pods that are not finished. With `queueing: kueue`, the pods of jobs in all of the team's
    /// namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<Spanned<u32>>,
    /// The total size of all `PersistentVolumeClaims`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10Ti"]))]
    pub storage: Option<Spanned<Quantity>>,
}

/// A quota for one of a team's namespaces.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceQuota {
    /// The namespace, one of the team's.
    pub namespace: Spanned<String>,
    /// The namespace's quota.
    pub quota: Quota,
}

/// A quota of a pool's GPUs: `shares` on a pool with time-slicing or MPS, otherwise `guaranteed`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuQuota {
    /// The pool.
    pub pool: Spanned<String>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["3g.20gb"]))]
    pub profile: Option<Spanned<String>>,
    /// The number of GPUs or MIG devices guaranteed to the team. The sum over all teams must not exceed the pool's
    /// GPUs, unless `nodePools.overcommit` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<Spanned<u32>>,
    /// The maximum number of GPUs, MIG devices or replicas that the team can use when other teams leave them idle.
    /// Default: the guaranteed number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Spanned<u32>>,
    /// The number of the team's guaranteed GPUs that other teams can borrow while they are idle. Requires `queueing:
    /// kueue`. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lend: Option<Spanned<u32>>,
    /// The number of replicas guaranteed to the team, on a pool with time-slicing or MPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Spanned<u32>>,
}

/// Default resources and maximum resources of a container: a `LimitRange`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Default resource requests of containers that set none. Default: `500m` of CPU and `1Gi` of memory for each of
    /// the two that a quota limits, because Kubernetes rejects pods without requests there; otherwise none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_request: Option<Amounts>,
    /// Default resource limits of containers that set none. Default: `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Amounts>,
    /// The maximum resource requests and limits of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Amounts>,
    /// The maximum number of GPUs that a container can request; on a pool with sharing, MIG devices or replicas. The
    /// maximum applies to each resource separately. Where a `LimitRange` would have side effects, with `queueing:
    /// kueue` and on some clouds, `admission` enforces it, with any `guard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000), extend("examples" = [4]))]
    pub gpus_per_container: Option<Spanned<u32>>,
}

/// Quantities of CPU and memory.
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

/// A `PriorityClass`, which determines the priority of pods. Its `value` and `preempts` are immutable. Flux and Argo CD
/// recreate the class when you change them; without a GitOps controller, delete the class first. Existing pods keep
/// their priority.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Priority {
    /// The name of the class, as used in `priorityClassName`.
    #[schemars(extend("examples" = ["production"]))]
    pub name: Spanned<String>,
    /// The priority. Pods with a higher value are scheduled first. Pods without a class have the priority 0.
    #[schemars(range(min = -2_147_483_648_i64, max = 1_000_000_000), extend("examples" = [1000]))]
    pub value: Spanned<i32>,
    /// Whether these pods can preempt pods with a lower priority if no node has free capacity.
    #[serde(default = "preempts")]
    pub preempts: Spanned<bool>,
    /// Whether this is the default class of pods without a `priorityClassName`. At most one class can be the default.
    #[serde(default)]
    pub default: Spanned<bool>,
    /// A description that helps users select a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Spanned<String>>,
}

fn preempts() -> Spanned<bool> {
    Spanned::without_span(true)
}
