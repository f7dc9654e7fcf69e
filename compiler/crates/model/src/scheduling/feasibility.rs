//! The result of checking a pod against a pool.

use super::{Demand, Reason, image, labels, node, resources};
use crate::{Cluster, Pool};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The check fails.
    No,
    /// The file does not determine the result.
    Perhaps,
    /// The check succeeds.
    Yes,
}

impl Answer {
    /// The feasibility of a condition that is certain.
    pub fn of(condition: bool) -> Self {
        if condition { Self::Yes } else { Self::No }
    }
}

/// The result of checking a pod against a pool.
#[derive(Clone, Debug)]
pub struct Verdict<'c> {
    /// The pool.
    pub pool: &'c Pool,
    /// The reasons why the pod does not or may not fit: first those of the scheduler, then those that stop the pod on
    /// its node. Empty if the pod fits.
    pub reasons: Vec<Reason>,
}

impl Verdict<'_> {
    /// Whether such pods fit on the pool and work there.
    pub fn answer(&self) -> Answer {
        Self::worst(self.reasons.iter())
    }

    /// Whether the scheduler can place one such pod on an empty node of the pool.
    pub fn scheduled(&self) -> Answer {
        let is_scheduling = |reason: &&Reason| reason.why.is_scheduling();
        Self::worst(self.reasons.iter().filter(is_scheduling))
    }

    fn worst<'r>(reasons: impl Iterator<Item = &'r Reason>) -> Answer {
        reasons
            .map(|reason| reason.answer)
            .min()
            .unwrap_or(Answer::Yes)
    }
}

/// Checks whether a pod fits on the nodes of a pool. Unresolved values of the pool are already reported, and ignored.
pub fn verdict<'c>(demand: &Demand, cluster: &Cluster, pool: &'c Pool) -> Verdict<'c> {
    let mut reasons = Vec::new();
    resources::check(demand, cluster, pool, &mut reasons);
    node::check(demand, cluster, pool, &mut reasons);
    labels::check(demand, cluster, pool, &mut reasons);
    resources::check_use(demand, pool, &mut reasons);
    image::check(demand, pool, &mut reasons);
    // Blocking reasons come before uncertain ones. The sort is stable.
    reasons.sort_by_key(|reason| (!reason.why.is_scheduling(), reason.answer));
    Verdict { pool, reasons }
}

/// The verdicts of all pools, in the order of the file.
pub fn places<'c>(demand: &Demand, cluster: &'c Cluster) -> Vec<Verdict<'c>> {
    let pools = cluster.pools.iter();
    pools.map(|pool| verdict(demand, cluster, pool)).collect()
}
