//! Teams, and what they may use of the pools.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use gpuc_schema::config::{
    Allocation, Amounts, Autoscaler, Queueing, Quota, Team as Written, TeamNetwork,
};
use gpuc_schema::{Span, Spanned};

use super::{Cluster, Known, NodeRange};

/// The namespaces that charts run in, beside Kubernetes' own: no team has them. A test holds them against the charts.
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
    /// What the user wrote.
    pub written: Written,
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its name.
    pub name: Spanned<String>,
    /// Its namespaces, one at least.
    pub namespaces: Vec<Spanned<String>>,
    /// What it may use of the pools' GPUs, in the order it was written: of `quota` first, then of `namespaceQuotas`.
    pub grants: Vec<Known<Grant>>,
    /// What is kept for a container that does not say what it asks for.
    pub default_request: Amounts,
}

/// How much of one thing that a pool offers a team may use.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The pool, by its index.
    pub pool: usize,
    /// What is counted.
    pub unit: Unit,
    /// What a pod asks for: `nvidia.com/mig-3g.20gb`; where pods claim GPUs, the DeviceClass.
    pub resource: String,
    /// What a ResourceQuota calls it: `requests.nvidia.com/mig-3g.20gb`; a name of its own where pods claim GPUs.
    pub quota_name: String,
    /// How many of it a node has.
    pub per_node: u32,
    /// How many are kept for the team.
    pub guaranteed: Spanned<u32>,
    /// How many it may have at most; no fewer than are kept for it.
    pub limit: Spanned<u32>,
    /// How many of those that are kept for the team others may borrow; all of them where nothing is said.
    pub lend: Option<Spanned<u32>>,
    /// The one of the team's namespaces that it is for, by its index; without, it is for all of them.
    pub namespace: Option<usize>,
    /// Where it was written.
    pub span: Span,
}

/// What a grant counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole GPUs.
    Gpu,
    /// Slices of GPUs.
    Slice,
    /// Shares of GPUs.
    Share,
}

impl Unit {
    /// The word for several of them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gpu => "GPUs",
            Self::Slice => "slices",
            Self::Share => "shares",
        }
    }
}

impl Grant {
    /// How many of it the pool has, at its fewest and at its most nodes.
    pub fn total(&self, nodes: &NodeRange) -> RangeInclusive<u64> {
        let per_node = u64::from(self.per_node);
        per_node * u64::from(nodes.min)..=per_node * u64::from(nodes.max)
    }
}

impl Team {
    /// What it may use of the pools, as far as that is known.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter().filter_map(Known::get)
    }

    /// Whether some of what it may use of the pools could not be understood: it may well be what seems to be missing.
    pub fn has_unknown_grants(&self) -> bool {
        self.grants.iter().any(Known::is_hole)
    }

    /// What was written of how much one of its namespaces may use by itself: its own quota, or the team's where it is
    /// the only one.
    pub fn quota_of(&self, namespace: usize) -> Option<&Quota> {
        let name = &self.namespaces[namespace];
        let own = self.written.namespace_quotas.iter();
        let own = own.filter(|it| it.namespace == *name).map(|it| &it.quota);
        let whole = self.written.quota.as_ref().map(|it| &it.value);
        let whole = whole.filter(|_| self.namespaces.len() == 1);
        own.chain(whole).next()
    }
}

impl Team {
    /// The most GPUs, slices or shares that one of its containers may ask for.
    pub fn gpus_per_container(&self) -> Option<&Spanned<u32>> {
        self.written.limits.as_ref()?.gpus_per_container.as_ref()
    }
}

impl Cluster {
    /// The team of a namespace, and which of its namespaces that is.
    pub fn team_of(&self, namespace: &str) -> Option<(&Team, usize)> {
        let mut teams = self.teams.iter();
        teams.find_map(|team| {
            let mut namespaces = team.namespaces.iter();
            let index = namespaces.position(|own| own.value == namespace)?;
            Some((team, index))
        })
    }

    /// What containers of a team may ask for by name: what it was promised of pools, or everything that pools offer
    /// where nobody promised it anything. What pods claim is asked for by no container.
    pub fn resources_of<'c>(&'c self, team: &'c Team) -> BTreeSet<&'c str> {
        let promised = team.grants().filter(|grant| {
            let pool = &self.pools[grant.pool];
            pool.allocation.value == Allocation::DevicePlugin
        });
        let promised: BTreeSet<_> = promised.map(|grant| grant.resource.as_str()).collect();
        if !team.grants.is_empty() || self.has_queues() {
            return promised;
        }
        let pools = self.pools.iter();
        let offers = pools.flat_map(|pool| pool.offers.get().into_iter().flatten());
        offers.map(|offer| offer.resource.as_str()).collect()
    }

    /// Whether a `LimitRange` may hold the GPUs of containers. With a most for them, Kubernetes writes into every
    /// container that asks for none that it asks for 0 of them, which some take for a wish:
    ///
    /// - the admission controller `ExtendedResourceToleration` lets such a pod onto nodes with GPUs
    ///   (kubernetes/kubernetes@143ac994 `plugin/pkg/admission/extendedresourcetoleration/admission.go`, read
    ///   2026-11-22);
    /// - Kueue looks for a flavor that has 0 of them, and keeps the job to that flavor's nodes
    ///   (kubernetes-sigs/kueue#15444 and #8079, read 2026-11-22);
    /// - Karpenter has made nodes with GPUs for it (batteries-included/batteries-included#2454, read 2026-11-22).
    pub fn ranges_hold_gpus(&self) -> bool {
        let tolerates = self.cloud.facts().tolerates_resources;
        let autoscaler = self.written.autoscaler.as_ref();
        let by_karpenter = autoscaler.is_some_and(|it| it.value == Autoscaler::Karpenter);
        !tolerates && !by_karpenter && !self.has_queues()
    }

    /// Whether jobs wait in queues, which count what teams use.
    pub fn has_queues(&self) -> bool {
        self.written.queueing.value == Queueing::Kueue
    }

    /// Where teams are isolated, which takes a network that enforces policies.
    pub fn isolation(&self) -> impl Iterator<Item = Span> {
        let networks = self.teams.iter().map(|team| &team.written.network);
        networks
            .filter(|it| it.value == TeamNetwork::Isolated)
            .map(|it| it.span)
    }
}
