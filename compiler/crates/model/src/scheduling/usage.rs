//! Usage of a team's quota by its workloads.

use std::collections::BTreeSet;

use gpuc_schema::Span;

use super::bin_packing;
use super::workload::{Load, What};
use crate::{Cluster, Grant, Quantity, Quota, Team};

/// A quota that workloads exceed.
#[derive(Clone, Debug)]
pub struct Spent {
    /// The limited resource.
    pub what: What,
    /// The requested amount.
    pub asked: u64,
    /// The team's limit.
    pub has: u64,
    /// The location of the limit.
    pub places: Vec<Span>,
    /// The indexes of the workloads.
    pub loads: Vec<usize>,
}

/// A team's limit of a resource other than devices.
#[derive(Clone, Debug)]
pub struct Limit<'t> {
    /// The limited resource.
    pub what: What,
    /// The limit.
    pub has: u64,
    /// The location of the limit.
    pub span: Span,
    /// The namespace where it applies; `None` for all namespaces of the team.
    pub namespace: Option<&'t str>,
}

/// The quotas that these workloads of a team exceed together. If there are several workloads, one that exceeds a quota
/// alone is not included.
pub fn spent(cluster: &Cluster, team: &Team, loads: &[&Load<'_>]) -> Vec<Spent> {
    let mut found = devices(team, loads);
    let limits = limits(cluster, team).into_iter();
    found.extend(limits.filter_map(|limit| exceeded(limit, loads)));
    found
}

/// The quotas of devices that are exceeded.
fn devices(team: &Team, loads: &[&Load<'_>]) -> Vec<Spent> {
    let grants: Vec<_> = team.grants().collect();
    let names: BTreeSet<&String> = grants.iter().map(|grant| &grant.resource).collect();
    let mut found = Vec::new();
    for name in names {
        let what = What::Device(name.clone());
        let requests = loads.iter().map(|load| {
            let may_have = grants.iter().enumerate();
            let may_have = may_have.filter(|(_, grant)| is_of(team, grant, load, name));
            let places: BTreeSet<_> = may_have.map(|(index, _)| index).collect();
            let asks = load.asks(&what);
            (places, if load.shares_a_claim() { 0 } else { asks })
        });
        let has = |index: usize| Some(u64::from(grants[index].limit.value));
        let mut requests: Vec<_> = requests.collect();
        for thing in requests.iter_mut().filter(|_| loads.len() > 1) {
            if !bin_packing::excesses(std::slice::from_ref(thing), has).is_empty() {
                thing.1 = 0;
            }
        }
        let excesses = bin_packing::excesses(&requests, has).into_iter();
        found.extend(excesses.map(|excess| Spent {
            what: what.clone(),
            asked: excess.asked,
            has: excess.has,
            places: excess.places.iter().map(|it| grants[*it].span).collect(),
            loads: excess.things,
        }));
    }
    found
}

/// Whether a workload may use a device of this grant.
pub(super) fn is_of(team: &Team, grant: &Grant, load: &Load<'_>, name: &str) -> bool {
    let is_elsewhere = grant
        .namespace
        .is_some_and(|index| load.namespace != Some(team.namespaces[index].as_str()));
    let mut pools = load.pools.iter();
    !is_elsewhere && grant.resource == name && pools.any(|pool| pool.index == grant.pool)
}

/// A team's limits of CPU, memory, pods and storage. Kueue counts the requests of pods across all namespaces of the
/// team; ResourceQuotas count volumes, and the quotas of single namespaces.
pub fn limits<'t>(cluster: &Cluster, team: &'t Team) -> Vec<Limit<'t>> {
    let whole = team.quota.as_ref();
    let mut limits = Vec::new();
    if cluster.has_queues() {
        limits.extend(whole.into_iter().flat_map(|quota| pod_limits(quota, None)));
    }
    for (index, name) in team.namespaces.iter().enumerate() {
        let Some(quota) = team.quota_of(index) else {
            continue;
        };
        let namespace = Some(name.value.as_str());
        let is_whole = whole.is_some_and(|whole| std::ptr::eq(whole, quota));
        if !(is_whole && cluster.has_queues()) {
            limits.extend(pod_limits(quota, namespace));
        }
        limits.extend(limit(
            What::Storage,
            bytes(quota.storage.as_ref()),
            namespace,
        ));
    }
    limits
}

fn pod_limits<'t>(quota: &Quota, namespace: Option<&'t str>) -> impl Iterator<Item = Limit<'t>> {
    let pods = quota.pods.as_ref();
    let counted = [
        (What::Cpu, thousandths(quota.cpu.as_ref())),
        (What::Memory, bytes(quota.memory.as_ref())),
        (What::Pods, pods.map(|it| (u64::from(it.value), it.span))),
    ];
    let counted = counted.into_iter();
    counted.filter_map(move |(what, most)| limit(what, most, namespace))
}

fn limit(what: What, most: Option<(u64, Span)>, namespace: Option<&str>) -> Option<Limit<'_>> {
    let (has, span) = most?;
    Some(Limit {
        what,
        has,
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

fn exceeded(limit: Limit<'_>, loads: &[&Load<'_>]) -> Option<Spent> {
    let applies_to = |load: &Load<'_>| limit.namespace.is_none_or(|it| load.namespace == Some(it));
    let inside = loads
        .iter()
        .enumerate()
        .filter(|(_, load)| applies_to(load));
    let mut requests: Vec<_> = inside
        .map(|(index, load)| (index, load.asks(&limit.what)))
        .collect();
    let is_alone = loads.len() == 1;
    requests.retain(|(_, count)| *count > 0 && (*count <= limit.has || is_alone));
    let asked = requests
        .iter()
        .map(|(_, count)| *count)
        .fold(0, u64::saturating_add);
    (asked > limit.has).then(|| Spent {
        what: limit.what,
        asked,
        has: limit.has,
        places: vec![limit.span],
        loads: requests.into_iter().map(|(index, _)| index).collect(),
    })
}
