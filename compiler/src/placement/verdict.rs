//! What is said of a pod and a pool.

use super::{Demand, Reason, devices, image, labels, node};
use crate::model::{Cluster, Pool};

/// Whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// It is not.
    No,
    /// The file alone does not tell.
    Perhaps,
    /// It is.
    Yes,
}

impl Answer {
    /// Of what is certain.
    pub fn of(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

/// What is said of one pod and one pool.
#[derive(Clone, Debug)]
pub struct Verdict<'c> {
    /// The pool.
    pub pool: &'c Pool,
    /// Why not, and why only perhaps: first what the scheduler looks at, then what stops the pod on the node. Nothing
    /// where the pool holds it.
    pub reasons: Vec<Reason>,
}

impl Verdict<'_> {
    /// Whether the pool holds such pods, and they work there.
    pub fn answer(&self) -> Answer {
        Self::least(self.reasons.iter())
    }

    /// Whether the scheduler can place one such pod on an empty node of the pool, whatever becomes of it there.
    pub fn scheduled(&self) -> Answer {
        let looks_at = |reason: &&Reason| reason.why.is_scheduling();
        Self::least(self.reasons.iter().filter(looks_at))
    }

    fn least<'r>(reasons: impl Iterator<Item = &'r Reason>) -> Answer {
        reasons
            .map(|reason| reason.answer)
            .min()
            .unwrap_or(Answer::Yes)
    }
}

/// Whether a pool's nodes can hold such a pod. What is a hole in the pool was reported, and is no reason.
pub fn verdict<'c>(demand: &Demand, cluster: &Cluster, pool: &'c Pool) -> Verdict<'c> {
    let mut reasons = Vec::new();
    devices::look(demand, cluster, pool, &mut reasons);
    node::look(demand, cluster, pool, &mut reasons);
    labels::look(demand, cluster, pool, &mut reasons);
    devices::look_at_use(demand, pool, &mut reasons);
    image::look(demand, pool, &mut reasons);
    // What is impossible comes before what is open, and otherwise the order stays.
    reasons.sort_by_key(|reason| (!reason.why.is_scheduling(), reason.answer));
    Verdict { pool, reasons }
}

/// What is said of every pool, in the order they were written.
pub fn places<'c>(demand: &Demand, cluster: &'c Cluster) -> Vec<Verdict<'c>> {
    let pools = cluster.pools.iter();
    pools.map(|pool| verdict(demand, cluster, pool)).collect()
}
