//! What a team's workloads take together of what it may have.

use std::collections::BTreeSet;

use gpuc_schema::Span;
use gpuc_schema::config::Quota;

use super::load::{Defaults, Load, What};
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

/// What these workloads of a team take together that it may not have. Where there are several, what one of them takes
/// alone is no part of it.
pub fn spent(cluster: &Cluster, team: &Team, loads: &[&Load<'_>]) -> Vec<Spent> {
    let mut found = devices(team, loads);
    for (quota, namespace) in quotas(cluster, team) {
        let inside = loads.iter().enumerate();
        let inside = inside.filter(|(_, load)| {
            namespace.is_none_or(|namespace| load.namespace == Some(namespace))
        });
        let inside: Vec<_> = inside.map(|(index, load)| (index, *load)).collect();
        found.extend(amounts(team, quota, &inside));
    }
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
            let asks = load.asks(&what, &Defaults::default());
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
fn is_of(team: &Team, grant: &Grant, load: &Load<'_>, name: &str) -> bool {
    let is_elsewhere = grant
        .namespace
        .is_some_and(|index| load.namespace != Some(team.namespaces[index].as_str()));
    let mut pools = load.pools.iter();
    !is_elsewhere && grant.resource == name && pools.any(|pool| pool.index == grant.pool)
}

/// What counts CPU, memory and pods, with the one namespace where it does: queues count all of them.
fn quotas<'t>(cluster: &Cluster, team: &'t Team) -> Vec<(&'t Quota, Option<&'t str>)> {
    if cluster.has_queues() {
        let whole = team.written.quota.as_ref();
        return whole.map(|it| (&it.value, None)).into_iter().collect();
    }
    let namespaces = team.namespaces.iter().enumerate();
    let own = namespaces
        .filter_map(|(index, name)| Some((team.quota_of(index)?, Some(name.value.as_str()))));
    own.collect()
}

fn amounts(team: &Team, quota: &Quota, loads: &[(usize, &Load<'_>)]) -> Vec<Spent> {
    let thousandths = |amount: Option<&gpuc_schema::Spanned<gpuc_schema::config::Quantity>>| {
        Some((amount?.thousandths()?, amount?.span))
    };
    let bytes = |(amount, span): (u64, Span)| (amount / 1000, span);
    let default = &team.default_request;
    let defaults = Defaults {
        cpu: thousandths(default.cpu.as_ref()).map_or(0, |it| it.0),
        memory: thousandths(default.memory.as_ref()).map_or(0, |it| it.0 / 1000),
    };
    let counted = [
        (What::Cpu, thousandths(quota.cpu.as_ref())),
        (What::Memory, thousandths(quota.memory.as_ref()).map(bytes)),
        (
            What::Pods,
            quota.pods.as_ref().map(|it| (u64::from(it.value), it.span)),
        ),
    ];
    let mut found = Vec::new();
    for (what, limit) in counted {
        let Some((has, span)) = limit else {
            continue;
        };
        let asks = loads.iter();
        let asks = asks.map(|(index, load)| (*index, load.asks(&what, &defaults)));
        let asks: Vec<_> = asks
            .filter(|(_, count)| *count > 0 && (*count <= has || loads.len() == 1))
            .collect();
        let asked = asks.iter().map(|(_, count)| *count);
        let asked = asked.fold(0, u64::saturating_add);
        if asked > has {
            found.push(Spent {
                what,
                asked,
                has,
                places: vec![span],
                loads: asks.into_iter().map(|(index, _)| index).collect(),
            });
        }
    }
    found
}
