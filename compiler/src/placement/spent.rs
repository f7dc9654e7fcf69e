//! What a team's workloads take together of what it may have.

use std::collections::BTreeSet;

use gpuc_schema::config::{Quantity, Quota};
use gpuc_schema::{Span, Spanned};

use super::load::{Load, What};
use super::sums;
use crate::model::{Cluster, Grant, Team};

/// More than a team may have.
#[derive(Clone, Debug)]
pub struct Spent {
    /// What there is too little of.
    pub what: What,
    /// How much is asked for.
    pub asked: u64,
    /// How much the team may have.
    pub has: u64,
    /// Where that is written.
    pub places: Vec<Span>,
    /// Who asks for it, by index.
    pub loads: Vec<usize>,
}

/// How much of something else than devices a team may have.
#[derive(Clone, Debug)]
pub struct Limit<'t> {
    /// What is counted.
    pub what: What,
    /// How much of it.
    pub has: u64,
    /// Where that is written.
    pub span: Span,
    /// The one namespace where it counts; without, in all of the team's.
    pub namespace: Option<&'t str>,
}

/// What these workloads of a team take together that it may not have. Where there are several, what one of them takes
/// alone is no part of it.
pub fn spent(cluster: &Cluster, team: &Team, loads: &[&Load<'_>]) -> Vec<Spent> {
    let mut found = devices(team, loads);
    let limits = limits(cluster, team).into_iter();
    found.extend(limits.filter_map(|limit| over(limit, loads)));
    found
}

/// The devices, each kind by what its pools were promised.
fn devices(team: &Team, loads: &[&Load<'_>]) -> Vec<Spent> {
    let grants: Vec<_> = team.grants().collect();
    let names: BTreeSet<&String> = grants.iter().map(|grant| &grant.resource).collect();
    let mut found = Vec::new();
    for name in names {
        let what = What::Device(name.clone());
        let things = loads.iter().map(|load| {
            let may_have = grants.iter().enumerate();
            let may_have = may_have.filter(|(_, grant)| is_of(team, grant, load, name));
            let places: BTreeSet<_> = may_have.map(|(index, _)| index).collect();
            let asks = load.asks(&what);
            (places, if load.shares_a_claim() { 0 } else { asks })
        });
        let has = |index: usize| Some(u64::from(grants[index].limit.value));
        let mut things: Vec<_> = things.collect();
        for thing in things.iter_mut().filter(|_| loads.len() > 1) {
            if !sums::excesses(std::slice::from_ref(thing), has).is_empty() {
                thing.1 = 0;
            }
        }
        let excesses = sums::excesses(&things, has).into_iter();
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

/// Whether a workload takes a device of what a team was promised here.
pub(super) fn is_of(team: &Team, grant: &Grant, load: &Load<'_>, name: &str) -> bool {
    let is_elsewhere = grant
        .namespace
        .is_some_and(|index| load.namespace != Some(team.namespaces[index].as_str()));
    let mut pools = load.pools.iter();
    !is_elsewhere && grant.resource == name && pools.any(|pool| pool.index == grant.pool)
}

/// How much CPU, memory, pods and storage a team may have, and where. Queues count what pods ask for over all of a
/// team's namespaces, and leave what volumes hold, and the quotas of single namespaces, to these.
pub fn limits<'t>(cluster: &Cluster, team: &'t Team) -> Vec<Limit<'t>> {
    let whole = team.written.quota.as_ref().map(|it| &it.value);
    let mut limits = Vec::new();
    if cluster.has_queues() {
        limits.extend(whole.into_iter().flat_map(|quota| of_pods(quota, None)));
    }
    for (index, name) in team.namespaces.iter().enumerate() {
        let Some(quota) = team.quota_of(index) else {
            continue;
        };
        let namespace = Some(name.value.as_str());
        let is_whole = whole.is_some_and(|whole| std::ptr::eq(whole, quota));
        if !(is_whole && cluster.has_queues()) {
            limits.extend(of_pods(quota, namespace));
        }
        limits.extend(limit(
            What::Storage,
            bytes(quota.storage.as_ref()),
            namespace,
        ));
    }
    limits
}

fn of_pods<'t>(quota: &Quota, namespace: Option<&'t str>) -> impl Iterator<Item = Limit<'t>> {
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

fn thousandths(amount: Option<&Spanned<Quantity>>) -> Option<(u64, Span)> {
    Some((amount?.thousandths()?, amount?.span))
}

fn bytes(amount: Option<&Spanned<Quantity>>) -> Option<(u64, Span)> {
    thousandths(amount).map(|(amount, span)| (amount / 1000, span))
}

fn over(limit: Limit<'_>, loads: &[&Load<'_>]) -> Option<Spent> {
    let is_there = |load: &Load<'_>| limit.namespace.is_none_or(|it| load.namespace == Some(it));
    let inside = loads.iter().enumerate().filter(|(_, load)| is_there(load));
    let asks: Vec<_> = inside
        .map(|(index, load)| (index, load.asks(&limit.what)))
        .collect();
    let is_alone = asks.len() == 1;
    let asks = asks.into_iter();
    let asks = asks.filter(|(_, count)| *count > 0 && (*count <= limit.has || is_alone));
    let asks: Vec<_> = asks.collect();
    let asked = asks.iter().map(|(_, count)| *count);
    let asked = asked.fold(0, u64::saturating_add);
    (asked > limit.has).then(|| Spent {
        what: limit.what,
        asked,
        has: limit.has,
        places: vec![limit.span],
        loads: asks.into_iter().map(|(index, _)| index).collect(),
    })
}
