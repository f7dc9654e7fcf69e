//! The result of checking a pod against a pool.

use super::{Demand, Feasibility, Reason, image, labels, node, resources};
use crate::{Cluster, Pool};

/// The result of checking a pod against a pool.
#[derive(Clone, Debug)]
pub struct PoolFeasibility<'c> {
    /// The pool.
    pub pool: &'c Pool,
    /// The reasons why the pod does not or may not fit: first those of the scheduler, then those that stop the pod on
    /// its node. Empty if the pod fits.
    pub reasons: Vec<Reason>,
}

impl PoolFeasibility<'_> {
    /// Whether such pods fit on the pool and work there.
    pub fn feasibility(&self) -> Feasibility {
        Self::worst_of(self.reasons.iter())
    }

    /// Whether the scheduler can place one such pod on an empty node of the pool.
    pub fn schedulability(&self) -> Feasibility {
        let is_scheduling = |reason: &&Reason| reason.cause.is_scheduling();
        Self::worst_of(self.reasons.iter().filter(is_scheduling))
    }

    fn worst_of<'r>(reasons: impl Iterator<Item = &'r Reason>) -> Feasibility {
        reasons
            .map(|reason| reason.feasibility)
            .min()
            .unwrap_or(Feasibility::Fits)
    }
}

/// Checks whether a pod fits on the nodes of a pool. Unresolved values of the pool are already reported, and ignored.
pub fn check_pool<'c>(demand: &Demand, cluster: &Cluster, pool: &'c Pool) -> PoolFeasibility<'c> {
    let mut reasons = Vec::new();
    resources::check(demand, cluster, pool, &mut reasons);
    node::check(demand, cluster, pool, &mut reasons);
    labels::check(demand, cluster, pool, &mut reasons);
    resources::check_use(demand, pool, &mut reasons);
    image::check(demand, pool, &mut reasons);
    // Blocking reasons come before uncertain ones. The sort is stable.
    reasons.sort_by_key(|reason| (!reason.cause.is_scheduling(), reason.feasibility));
    PoolFeasibility { pool, reasons }
}

/// The verdicts of all pools, in the order of the file.
pub fn check_pools<'c>(demand: &Demand, cluster: &'c Cluster) -> Vec<PoolFeasibility<'c>> {
    let pools = cluster.pools.iter();
    pools
        .map(|pool| check_pool(demand, cluster, pool))
        .collect()
}
