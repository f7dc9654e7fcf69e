//! Teams and their quotas of the pools.

use std::ops::RangeInclusive;

use gpuc_schema::config::{
    Limits as FileLimits, Member, PodSecurityLevel, Quota as FileQuota, Team as FileTeam,
    TeamNetwork,
};
use gpuc_schema::{Span, Spanned};

use super::{Amounts, NodeRange, Quantity, Resolved};

/// The namespaces of charts, which no team can use, in addition to those of Kubernetes. A test compares them with the
/// charts.
pub const CHART_NAMESPACES: &[&str] = &[
    "dcgm-exporter",
    "dra-driver-nvidia-gpu",
    "gpu-operator",
    "jobset-system",
    "jupyterhub",
    "kubeflow-system",
    "kueue-system",
    "lws-system",
    "monitoring",
    "node-feature-discovery",
    "nvidia-device-plugin",
    "nvidia-network-operator",
];

/// A team.
#[derive(Clone, Debug)]
pub struct Team {
    /// The settings that need no resolution.
    pub settings: TeamSettings,
    /// The index in the list of teams.
    pub index: usize,
    /// The name.
    pub name: Spanned<String>,
    /// The namespaces, at least one.
    pub namespaces: Vec<Spanned<String>>,
    /// The quota of all namespaces together. The numbers of its GPUs are in `grants`.
    pub quota: Option<Quota>,
    /// The quotas of single namespaces. The numbers of their GPUs are in `grants`.
    pub namespace_quotas: Vec<NamespaceQuota>,
    /// The quotas of the pools' GPUs, in the order of the file: those of `quota`, then those of `namespaceQuotas`.
    pub grants: Vec<Resolved<Grant>>,
    /// The default limits and the maximum of containers.
    pub limits: Option<ContainerLimits>,
    /// Default requests of containers that set none.
    pub default_request: Amounts,
}

/// The settings of a team that need no resolution: they are used as they are in the file.
#[derive(Clone, Debug)]
pub struct TeamSettings {
    /// The members.
    pub members: Vec<Spanned<Member>>,
    /// The weight when idle quota is shared.
    pub weight: Option<Spanned<u32>>,
    /// The Pod Security Standard of the team's namespaces.
    pub pod_security: Spanned<PodSecurityLevel>,
    /// The network access of the team's pods.
    pub network: Spanned<TeamNetwork>,
}

impl From<&FileTeam> for TeamSettings {
    /// Copies the settings. Every field of the file is named: a new one is either a setting or resolved.
    fn from(team: &FileTeam) -> Self {
        let FileTeam {
            members,
            weight,
            pod_security,
            network,
            name: _,
            namespaces: _,
            quota: _,
            namespace_quotas: _,
            limits: _,
        } = team;
        Self {
            members: members.clone(),
            weight: *weight,
            pod_security: *pod_security,
            network: *network,
        }
    }
}

/// A quota of resources that are counted in one amount, without the GPUs of pools.
#[derive(Clone, Debug)]
pub struct Quota {
    /// The locations of the entries for GPUs.
    pub gpu_spans: Vec<Span>,
    /// The total of the pods' CPU requests.
    pub cpu: Option<Quantity>,
    /// The total of the pods' memory requests.
    pub memory: Option<Quantity>,
    /// The number of pods that are not finished.
    pub pods: Option<Spanned<u32>>,
    /// The total size of all PersistentVolumeClaims.
    pub storage: Option<Quantity>,
    /// The location in the file.
    pub span: Span,
}

impl Quota {
    /// Parses the quota at a location.
    pub(crate) fn new(quota: &FileQuota, span: Span) -> Self {
        let FileQuota {
            gpus,
            cpu,
            memory,
            pods,
            storage,
        } = quota;
        Self {
            gpu_spans: gpus.iter().map(|it| it.span).collect(),
            cpu: cpu.as_ref().map(Quantity::from),
            memory: memory.as_ref().map(Quantity::from),
            pods: *pods,
            storage: storage.as_ref().map(Quantity::from),
            span,
        }
    }

    /// Whether the quota has an entry for GPUs.
    pub fn has_gpus(&self) -> bool {
        !self.gpu_spans.is_empty()
    }
}

/// A quota of one namespace.
#[derive(Clone, Debug)]
pub struct NamespaceQuota {
    /// The namespace, which is one of the team's if the cluster has passed the rules.
    pub namespace: Spanned<String>,
    /// The quota.
    pub quota: Quota,
}

/// The default limits and the maximum of a container.
#[derive(Clone, Debug)]
pub struct ContainerLimits {
    /// The limits of containers that set none.
    pub default: Option<Amounts>,
    /// The maximum requests and limits.
    pub max: Option<Amounts>,
    /// The maximum number of GPUs, MIG devices or replicas.
    pub gpus_per_container: Option<Spanned<u32>>,
    /// The location in the file.
    pub span: Span,
}

impl From<&Spanned<FileLimits>> for ContainerLimits {
    fn from(limits: &Spanned<FileLimits>) -> Self {
        let FileLimits {
            default,
            max,
            gpus_per_container,
            // Resolved: `Team::default_request`.
            default_request: _,
        } = &limits.value;
        Self {
            default: default.as_ref().map(Amounts::from),
            max: max.as_ref().map(Amounts::from),
            gpus_per_container: *gpus_per_container,
            span: limits.span,
        }
    }
}

/// A team's quota of one resource of a pool.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The index of the pool.
    pub pool: usize,
    /// The counted unit.
    pub unit: Unit,
    /// The resource that a pod requests: `nvidia.com/mig-3g.20gb`; with DRA, the DeviceClass.
    pub resource: String,
    /// The name in a ResourceQuota: `requests.nvidia.com/mig-3g.20gb`; with DRA, a name derived from the DeviceClass.
    pub quota_name: String,
    /// The number on each node.
    pub per_node: u32,
    /// The guaranteed number.
    pub guaranteed: Spanned<u32>,
    /// The limit; at least the guaranteed number.
    pub limit: Spanned<u32>,
    /// The maximum part of the guaranteed number that other teams can borrow; all of it if unset.
    pub lend: Option<Spanned<u32>>,
    /// The index of the team's namespace that the quota is for; all namespaces if unset.
    pub namespace: Option<usize>,
    /// The location in the file.
    pub span: Span,
}

/// The unit of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Full GPUs.
    Gpu,
    /// MIG devices.
    MigDevice,
    /// Replicas of GPUs (time-slicing, MPS).
    Replica,
}

impl Unit {
    /// The plural of the unit.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Gpu => "GPUs",
            Self::MigDevice => "MIG devices",
            Self::Replica => "replicas",
        }
    }
}

impl Grant {
    /// The number in the pool, at the minimum and at the maximum number of nodes.
    pub fn total(&self, nodes: &NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }
}

impl Team {
    /// Whether a value is unresolved. Every field is named, as in [`check`](crate::check::check).
    pub(crate) fn has_unresolved_values(&self) -> bool {
        let Self {
            grants,
            settings: _,
            index: _,
            name: _,
            namespaces: _,
            quota: _,
            namespace_quotas: _,
            limits: _,
            default_request: _,
        } = self;
        grants.iter().any(Resolved::is_unresolved)
    }

    /// The resolved quotas.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter().filter_map(Resolved::get)
    }

    /// Whether a quota is unresolved, so that a quota that seems to be missing may exist.
    pub fn has_unknown_grants(&self) -> bool {
        self.grants.iter().any(Resolved::is_unresolved)
    }

    /// The quota of one namespace: its entry in `namespaceQuotas`, or the team's quota if it is the only namespace.
    pub fn namespace_quota(&self, namespace: usize) -> Option<&Quota> {
        let name = &self.namespaces[namespace];
        let team_quota = self.quota.as_ref();
        self.namespace_quotas
            .iter()
            .filter(|it| it.namespace == *name)
            .map(|it| &it.quota)
            .chain(team_quota.filter(|_| self.namespaces.len() == 1))
            .next()
    }

    /// Whether a namespace has an entry in `namespaceQuotas`.
    pub fn has_namespace_quota(&self, namespace: usize) -> bool {
        let name = &self.namespaces[namespace];
        self.namespace_quotas.iter().any(|it| it.namespace == *name)
    }
}

impl Team {
    /// The maximum number of GPUs, MIG devices or replicas that one container can request.
    pub fn gpus_per_container(&self) -> Option<&Spanned<u32>> {
        self.limits.as_ref()?.gpus_per_container.as_ref()
    }
}
