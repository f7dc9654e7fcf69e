//! What the pools hold against what teams were promised of it.

use std::ops::RangeInclusive;

use super::{Cluster, Grant, Team, Unit};

/// What teams were promised of one thing that a pool offers.
pub struct Promise<'c> {
    /// The pool, by its index.
    pub pool: usize,
    /// What a pod asks for.
    pub resource: &'c str,
    /// What is counted.
    pub unit: Unit,
    /// How many the pool has, at its fewest and at its most nodes.
    pub total: RangeInclusive<u64>,
    /// To whom, in the order of the teams.
    pub grants: Vec<(&'c Team, &'c Grant)>,
}

impl Promise<'_> {
    /// How many are kept for teams, all together.
    pub fn guaranteed(&self) -> u64 {
        let counts = self.grants.iter();
        counts.map(|(_, it)| u64::from(it.guaranteed.value)).sum()
    }

    /// How many teams may have, all together.
    pub fn limit(&self) -> u64 {
        let counts = self.grants.iter();
        counts.map(|(_, it)| u64::from(it.limit.value)).sum()
    }

    /// How many a team can have beyond what is kept for it, where teams borrow: what others lend, and what is kept for
    /// nobody.
    pub fn borrowable(&self, team: &Team) -> u64 {
        let others = self.grants.iter().filter(|(of, _)| of.index != team.index);
        let lent = others.map(|(_, grant)| {
            let kept = grant.guaranteed.value;
            u64::from(grant.lend.map_or(kept, |lend| lend.value.min(kept)))
        });
        lent.sum::<u64>() + self.most().saturating_sub(self.guaranteed())
    }

    /// The most that there are.
    pub fn most(&self) -> u64 {
        *self.total.end()
    }
}

impl Cluster {
    /// How many of a grant its team can ever have: its limit; in queues, what is kept for it with what it may borrow
    /// and there is to borrow.
    pub fn reachable(&self, team: &Team, grant: &Grant) -> u64 {
        let (kept, limit) = (grant.guaranteed.value, grant.limit.value);
        if !self.has_queues() {
            return limit.into();
        }
        let mut promises = self.promises().into_iter();
        let promise = promises.find(|it| it.pool == grant.pool && it.resource == grant.resource);
        let there = promise.map_or(u64::MAX, |it| it.borrowable(team));
        u64::from(kept) + u64::from(limit.saturating_sub(kept)).min(there)
    }

    /// What teams were promised, by pool and by the name of what pods ask for. What is not understood is no part of it.
    pub fn promises(&self) -> Vec<Promise<'_>> {
        let mut promises: Vec<Promise<'_>> = Vec::new();
        for team in &self.teams {
            for grant in team.grants() {
                let Some(nodes) = self.pools[grant.pool].nodes.get() else {
                    continue;
                };
                let same =
                    |it: &&mut Promise<'_>| it.pool == grant.pool && it.resource == grant.resource;
                match promises.iter_mut().find(same) {
                    Some(promise) => promise.grants.push((team, grant)),
                    None => promises.push(Promise {
                        pool: grant.pool,
                        resource: &grant.resource,
                        unit: grant.unit,
                        total: grant.total(nodes),
                        grants: vec![(team, grant)],
                    }),
                }
            }
        }
        promises.sort_by(|a, b| (a.pool, a.resource).cmp(&(b.pool, b.resource)));
        promises
    }
}
