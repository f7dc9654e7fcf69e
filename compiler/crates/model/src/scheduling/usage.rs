//! Usage of a team's quota by its workloads.

use std::collections::BTreeSet;

use gpuc_schema::Span;

use super::bin_packing;
use super::workload::{QuotaResource, RunningWorkload};
use crate::{Cluster, Grant, Quantity, Quota, Team};

/// A quota that workloads exceed.
#[derive(Clone, Debug)]
pub struct ExceededQuota {
    /// The limited resource.
    pub resource: QuotaResource,
    /// The requested amount.
    pub requested: u64,
    /// The team's limit.
    pub limit: u64,
    /// The location of the limit.
    pub spans: Vec<Span>,
    /// The indexes of the workloads.
    pub workloads: Vec<usize>,
}

/// A team's limit of a resource other than devices.
#[derive(Clone, Debug)]
pub struct Limit<'t> {
    /// The limited resource.
    pub resource: QuotaResource,
    /// The limit.
    pub amount: u64,
    /// The location of the limit.
    pub span: Span,
    /// The namespace where it applies; `None` for all namespaces of the team.
    pub namespace: Option<&'t str>,
}

/// The quotas that these workloads of a team exceed together. If there are several workloads, one that exceeds a quota
/// alone is not included.
pub fn exceeded_quotas(
    cluster: &Cluster,
    team: &Team,
    loads: &[&RunningWorkload<'_>],
) -> Vec<ExceededQuota> {
    let mut found = exceeded_device_quotas(team, loads);
    let limits = resource_limits(cluster, team).into_iter();
    found.extend(limits.filter_map(|limit| exceeded_limit(limit, loads)));
    found
}

/// The quotas of devices that are exceeded.
fn exceeded_device_quotas(team: &Team, loads: &[&RunningWorkload<'_>]) -> Vec<ExceededQuota> {
    let grants: Vec<_> = team.grants().collect();
    let names: BTreeSet<&String> = grants.iter().map(|grant| &grant.resource).collect();
    let mut found = Vec::new();
    for name in names {
        let what = QuotaResource::Device(name.clone());
        let requests = loads.iter().map(|load| {
            let may_have = grants.iter().enumerate();
            let may_have = may_have.filter(|(_, grant)| is_covered_by(team, grant, load, name));
            let places: BTreeSet<_> = may_have.map(|(index, _)| index).collect();
            let asks = load.requested(&what);
            (places, if load.shares_a_claim() { 0 } else { asks })
        });
        let grant_limit = |index: usize| Some(u64::from(grants[index].limit.value));
        let mut requests: Vec<_> = requests.collect();
        for thing in requests.iter_mut().filter(|_| loads.len() > 1) {
            if !bin_packing::find_oversubscriptions(std::slice::from_ref(thing), grant_limit)
                .is_empty()
            {
                thing.1 = 0;
            }
        }
        let excesses = bin_packing::find_oversubscriptions(&requests, grant_limit).into_iter();
        found.extend(excesses.map(|excess| ExceededQuota {
            resource: what.clone(),
            requested: excess.requested,
            limit: excess.capacity,
            spans: excess.places.iter().map(|it| grants[*it].span).collect(),
            workloads: excess.items,
        }));
    }
    found
}

/// Whether a workload may use a device of this grant.
pub(super) fn is_covered_by(
    team: &Team,
    grant: &Grant,
    load: &RunningWorkload<'_>,
    name: &str,
) -> bool {
    let is_elsewhere = grant
        .namespace
        .is_some_and(|index| load.namespace != Some(team.namespaces[index].as_str()));
    let mut pools = load.pools.iter();
    !is_elsewhere && grant.resource == name && pools.any(|pool| pool.index == grant.pool)
}

/// A team's limits of CPU, memory, pods and storage. Kueue counts the requests of pods across all namespaces of the
/// team; ResourceQuotas count volumes, and the quotas of single namespaces.
pub fn resource_limits<'t>(cluster: &Cluster, team: &'t Team) -> Vec<Limit<'t>> {
    let team_quota = team.quota.as_ref();
    let mut limits = Vec::new();
    if cluster.has_queues() {
        limits.extend(
            team_quota
                .into_iter()
                .flat_map(|quota| pod_limits(quota, None)),
        );
    }
    for (index, name) in team.namespaces.iter().enumerate() {
        let Some(quota) = team.namespace_quota(index) else {
            continue;
        };
        let namespace = Some(name.value.as_str());
        let is_whole = team_quota.is_some_and(|whole| std::ptr::eq(whole, quota));
        if !(is_whole && cluster.has_queues()) {
            limits.extend(pod_limits(quota, namespace));
        }
        limits.extend(limit_from(
            QuotaResource::Storage,
            bytes(quota.storage.as_ref()),
            namespace,
        ));
    }
    limits
}

fn pod_limits<'t>(quota: &Quota, namespace: Option<&'t str>) -> impl Iterator<Item = Limit<'t>> {
    let pods = quota.pods.as_ref();
    let counted = [
        (QuotaResource::Cpu, thousandths(quota.cpu.as_ref())),
        (QuotaResource::Memory, bytes(quota.memory.as_ref())),
        (
            QuotaResource::Pods,
            pods.map(|it| (u64::from(it.value), it.span)),
        ),
    ];
    let counted = counted.into_iter();
    counted.filter_map(move |(what, most)| limit_from(what, most, namespace))
}

fn limit_from(
    what: QuotaResource,
    most: Option<(u64, Span)>,
    namespace: Option<&str>,
) -> Option<Limit<'_>> {
    let (has, span) = most?;
    Some(Limit {
        resource: what,
        amount: has,
        span,
        namespace,
    })
}

fn thousandths(amount: Option<&Quantity>) -> Option<(u64, Span)> {
    Some((amount?.thousandths()?, amount?.span))
}

fn bytes(amount: Option<&Quantity>) -> Option<(u64, Span)> {
    Some((amount?.bytes()?, amount?.span))
}

fn exceeded_limit(limit: Limit<'_>, loads: &[&RunningWorkload<'_>]) -> Option<ExceededQuota> {
    let applies_to =
        |load: &RunningWorkload<'_>| limit.namespace.is_none_or(|it| load.namespace == Some(it));
    let inside = loads
        .iter()
        .enumerate()
        .filter(|(_, load)| applies_to(load));
    let mut requests: Vec<_> = inside
        .map(|(index, load)| (index, load.requested(&limit.resource)))
        .collect();
    let is_alone = loads.len() == 1;
    requests.retain(|(_, count)| *count > 0 && (*count <= limit.amount || is_alone));
    let asked = requests
        .iter()
        .map(|(_, count)| *count)
        .fold(0, u64::saturating_add);
    (asked > limit.amount).then(|| ExceededQuota {
        resource: limit.resource,
        requested: asked,
        limit: limit.amount,
        spans: vec![limit.span],
        workloads: requests.into_iter().map(|(index, _)| index).collect(),
    })
}
