//! Quota totals: the capacity of the pools and the sum of the teams' quotas.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Cluster, Grant, Team, Unit};

/// The quotas of all teams of one resource of a pool.
pub struct QuotaTotal<'c> {
    /// The index of the pool.
    pub pool: usize,
    /// The resource that a pod requests.
    pub resource: &'c str,
    /// The counted unit.
    pub unit: Unit,
    /// The number in the pool, at the minimum and at the maximum number of nodes.
    pub total: RangeInclusive<u64>,
    /// The quotas, in the order of the teams.
    pub grants: Vec<(&'c Team, &'c Grant)>,
}

impl QuotaTotal<'_> {
    /// The sum of the guaranteed numbers.
    pub fn guaranteed(&self) -> u64 {
        let counts = self.grants.iter();
        counts.map(|(_, it)| u64::from(it.guaranteed.value)).sum()
    }

    /// The sum of the limits.
    pub fn limit(&self) -> u64 {
        let counts = self.grants.iter();
        counts.map(|(_, it)| u64::from(it.limit.value)).sum()
    }

    /// The number that a team can borrow: guarantees that other teams lend, and capacity that is not guaranteed.
    pub fn borrowable(&self, team: &Team) -> u64 {
        let lent: u64 = self
            .grants
            .iter()
            .filter(|(other, _)| other.index != team.index)
            .map(|(_, grant)| {
                let guaranteed = grant.guaranteed.value;
                let lent = grant.lend.map_or(guaranteed, |it| it.value.min(guaranteed));
                u64::from(lent)
            })
            .sum();
        lent + self.max_total().saturating_sub(self.guaranteed())
    }

    /// The maximum number of a grant that its team can use with queues: the guaranteed number plus what the team can
    /// borrow within its limit.
    pub fn max_reachable(&self, team: &Team, grant: &Grant) -> u64 {
        let (guaranteed, limit) = (grant.guaranteed.value, grant.limit.value);
        let above = u64::from(limit.saturating_sub(guaranteed));
        u64::from(guaranteed) + above.min(self.borrowable(team))
    }

    /// The number in the pool at the maximum number of nodes.
    pub fn max_total(&self) -> u64 {
        *self.total.end()
    }
}

impl Cluster {
    /// The maximum number of a grant that its team can use: the limit; with queues, the guaranteed number plus what the
    /// team can borrow within its limit.
    pub fn max_reachable(&self, team: &Team, grant: &Grant) -> u64 {
        if !self.has_queues() {
            return grant.limit.value.into();
        }
        let is_same = |it: &Grant| it.pool == grant.pool && it.resource == grant.resource;
        match self.collect_totals(is_same).first() {
            Some(total) => total.max_reachable(team, grant),
            None => grant.limit.value.max(grant.guaranteed.value).into(),
        }
    }

    /// The quota totals, by pool and resource. Unresolved quotas are not included.
    pub fn quota_totals(&self) -> Vec<QuotaTotal<'_>> {
        self.collect_totals(|_| true)
    }

    fn collect_totals(&self, is_included: impl Fn(&Grant) -> bool) -> Vec<QuotaTotal<'_>> {
        let mut totals: BTreeMap<(usize, &str), QuotaTotal<'_>> = BTreeMap::new();
        for team in &self.teams {
            for grant in team.grants().filter(|grant| is_included(grant)) {
                let Some(nodes) = self.pools[grant.pool].nodes.get() else {
                    continue;
                };
                let total = totals
                    .entry((grant.pool, grant.resource.as_str()))
                    .or_insert_with(|| QuotaTotal {
                        pool: grant.pool,
                        resource: &grant.resource,
                        unit: grant.unit,
                        total: grant.total(nodes),
                        grants: Vec::new(),
                    });
                total.grants.push((team, grant));
            }
        }
        totals.into_values().collect()
    }
}
