//! Reservations from which several pools have their machines, for the rules about them.

use gpuc_schema::Spanned;
use gpuc_schema::config::Capacity;

use crate::model::{Cluster, NodeRange, Pool};

/// Pools whose machines come out of one reservation that holds a known number of them.
pub(super) struct Shared<'a> {
    /// The reservation's id, as the first pool has it.
    pub(super) id: &'a str,
    /// How many machines it holds: the most that any of the pools says.
    pub(super) count: Spanned<u32>,
    /// The pools, two at least, each with how many nodes it has.
    pub(super) pools: Vec<(&'a Pool, NodeRange)>,
}

impl Shared<'_> {
    /// What all pools have together, by what of each is counted.
    pub(super) fn sum(&self, of: impl Fn(&NodeRange) -> u32) -> u64 {
        let nodes = self.pools.iter().map(|(_, nodes)| u64::from(of(nodes)));
        nodes.sum()
    }

    /// The names of all pools but one.
    pub(super) fn others(&self, than: &Pool) -> String {
        let others = self.pools.iter().map(|(pool, _)| &pool.name);
        let others = others.filter(|name| name.value != than.name.value);
        let names: Vec<String> = others.map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}

/// The reservations that several pools share and of which one pool at least says how much they hold.
///
/// One name may stand for several: a group of Azure's has one reservation for each size of machine and each zone, and a
/// project of Google's one of the same name in each zone. So pools share one that have the same machines in the same
/// zones. A pool that alone may have more than there is was told so already.
pub(super) fn all(cluster: &Cluster) -> Vec<Shared<'_>> {
    let mut all: Vec<Shared<'_>> = Vec::new();
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let mut rest: Vec<(&Pool, &str, NodeRange)> = pools
        .filter_map(|pool| Some((pool, id(pool)?, *pool.nodes.get()?)))
        .collect();
    while let Some((first, of, _)) = rest.first().copied() {
        let is_it = |it: &(&Pool, &str, NodeRange)| {
            it.1.eq_ignore_ascii_case(of) && machines(it.0) == machines(first)
        };
        let (these, others) = rest.into_iter().partition(is_it);
        rest = others;
        let these: Vec<(&Pool, &str, NodeRange)> = these;
        let counts = these.iter().filter_map(|(pool, ..)| count(pool));
        let Some(count) = counts.max_by_key(|count| count.value) else {
            continue;
        };
        let is_alone_too_many = |(pool, _, nodes): &(&Pool, &str, NodeRange)| {
            self::count(pool).is_some_and(|count| nodes.max > count.value)
        };
        if these.len() > 1 && !these.iter().any(is_alone_too_many) {
            all.push(Shared {
                id: of,
                count,
                pools: these
                    .iter()
                    .map(|(pool, _, nodes)| (*pool, *nodes))
                    .collect(),
            });
        }
    }
    all
}

fn id(pool: &Pool) -> Option<&str> {
    match &pool.written.capacity.value {
        Capacity::Reservation(it) => Some(&it.id.value),
        Capacity::CapacityBlock(it) => Some(&it.id.value),
        Capacity::OnDemand | Capacity::Spot(_) => None,
    }
}

fn count(pool: &Pool) -> Option<Spanned<u32>> {
    match &pool.written.capacity.value {
        Capacity::Reservation(it) => it.count,
        Capacity::CapacityBlock(it) => Some(it.count),
        Capacity::OnDemand | Capacity::Spot(_) => None,
    }
}

/// Which of the machines that a name stands for.
fn machines(pool: &Pool) -> (Option<&str>, Vec<&str>) {
    let machine = pool.written.machine.as_ref();
    let zones = pool.written.zones.iter();
    let mut zones: Vec<&str> = zones.map(|zone| zone.value.as_str()).collect();
    zones.sort_unstable();
    (machine.map(|machine| machine.value.as_str()), zones)
}
