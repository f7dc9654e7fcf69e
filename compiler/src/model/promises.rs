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

    /// The most that there are.
    pub fn most(&self) -> u64 {
        *self.total.end()
    }
}

impl Cluster {
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
