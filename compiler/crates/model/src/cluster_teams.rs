//! The teams of a cluster: their namespaces, queues and networks, and the resources that their containers can request.

use std::collections::BTreeSet;

use gpuc_schema::Span;
use gpuc_schema::config::{Autoscaler, Queueing, TeamNetwork};

use super::{Cluster, Team};

impl Cluster {
    /// The team of a namespace, and the index of the namespace in the team.
    pub fn team_of_namespace(&self, namespace: &str) -> Option<(&Team, usize)> {
        let mut teams = self.teams.iter();
        teams.find_map(|team| {
            let mut namespaces = team.namespaces.iter();
            let index = namespaces.position(|name| name.value == namespace)?;
            Some((team, index))
        })
    }

    /// The extended resources that containers of a team can request: those with a quota, or all resources of device
    /// plugins and DeviceClasses if the team has no quota. Other GPUs that are allocated through DRA are only claimed.
    pub fn requestable_resources<'c>(&'c self, team: &'c Team) -> BTreeSet<&'c str> {
        let with_quota: BTreeSet<_> = team
            .grants()
            .filter_map(|grant| self.extended_resource_of(grant))
            .collect();
        if !team.grants.is_empty() || self.has_queues() {
            return with_quota;
        }
        self.pools
            .iter()
            .flat_map(|pool| pool.advertised.get().into_iter().flatten())
            .map(|resource| resource.name.as_str())
            .chain(self.named_classes().map(|(_, _, name)| name))
            .collect()
    }

    /// Whether a `LimitRange` can limit the GPUs of containers. With a maximum, Kubernetes adds a request for 0 GPUs to
    /// every container without one, which some components treat as a request for GPUs:
    ///
    /// - the admission controller `ExtendedResourceToleration` adds the toleration of GPU nodes to such a pod
    ///   (kubernetes/kubernetes@143ac994 `plugin/pkg/admission/extendedresourcetoleration/admission.go`, read
    ///   2026-11-22);
    /// - Kueue assigns a flavor with 0 of them, and keeps the job to the nodes of that flavor
    ///   (kubernetes-sigs/kueue#15444 and #8079, read 2026-11-22);
    /// - Karpenter has created GPU nodes for it (batteries-included/batteries-included#2454, read 2026-11-22).
    pub fn can_limit_range_gpus(&self) -> bool {
        let tolerates = self.cloud.facts().tolerates_requested_resources;
        let uses_karpenter = self.autoscaler.value == Autoscaler::Karpenter;
        !tolerates && !uses_karpenter && !self.has_queues()
    }

    /// Whether jobs wait in queues, which count the usage of teams.
    pub fn has_queues(&self) -> bool {
        self.config.queueing.value == Queueing::Kueue
    }

    /// The locations of `network: isolated`, which requires a network that enforces policies.
    pub fn isolation_spans(&self) -> impl Iterator<Item = Span> {
        let networks = self.teams.iter().map(|team| &team.settings.network);
        networks
            .filter(|it| it.value == TeamNetwork::Isolated)
            .map(|it| it.span)
    }
}
