//! Pools that have less than everything that is to run there for good.

use std::collections::BTreeSet;

use super::load::{Load, What};
use super::{devices, sums};
use crate::model::{Cluster, Pool};

/// Pools on which not everything runs at the same time.
#[derive(Clone, Debug)]
pub struct Crowded<'c> {
    /// The pools.
    pub pools: Vec<&'c Pool>,
    /// What there is too little of.
    pub what: What,
    /// How much everything needs that runs nowhere else: of it, or in nodes.
    pub asked: u64,
    /// How much the pools have at their most nodes: of it, or in nodes.
    pub has: u64,
    /// Whether nodes are counted, because pods do not share one as they would have to.
    pub by_nodes: bool,
    /// What runs nowhere else, by its index.
    pub loads: Vec<usize>,
}

/// Pools that hold each of these, but not all of them together.
pub fn crowded<'c>(cluster: &'c Cluster, loads: &[Load<'c>]) -> Vec<Crowded<'c>> {
    let names: BTreeSet<String> = loads.iter().flat_map(Load::devices).collect();
    let mut kinds: Vec<What> = names.into_iter().map(What::Device).collect();
    kinds.extend([What::Cpu, What::Memory]);
    let mut found: Vec<Crowded<'c>> = Vec::new();
    for what in kinds {
        for crowd in of_kind(cluster, loads, &what) {
            let is_same = |other: &Crowded<'_>| {
                let indexes = |pools: &[&Pool]| pools.iter().map(|it| it.index).collect::<Vec<_>>();
                indexes(&other.pools) == indexes(&crowd.pools)
            };
            if !found.iter().any(is_same) {
                found.push(crowd);
            }
        }
    }
    found
}

fn of_kind<'c>(cluster: &'c Cluster, loads: &[Load<'c>], what: &What) -> Vec<Crowded<'c>> {
    let is_device = matches!(what, What::Device(_));
    let things = loads.iter().map(|load| {
        let pools: BTreeSet<_> = load.pools.iter().map(|pool| pool.index).collect();
        let counts = !(is_device && load.shares_a_claim());
        let asks = if counts { load.asks(what) } else { 0 };
        (pools, asks)
    });
    let things: Vec<_> = things.collect();
    let on_a_node = |index: usize| on_a_node(cluster, &cluster.pools[index], what);
    let most = |index: usize| Some(u64::from(cluster.pools[index].nodes.get()?.max));
    let has = |index: usize| Some(on_a_node(index)?.saturating_mul(most(index)?));
    let mut found: Vec<_> = sums::excesses(&things, has)
        .into_iter()
        .map(|excess| Crowded {
            pools: excess.places.iter().map(|it| &cluster.pools[*it]).collect(),
            what: what.clone(),
            asked: excess.asked,
            has: excess.has,
            by_nodes: false,
            loads: excess.things,
        })
        .collect();
    for pool in &cluster.pools {
        let only = BTreeSet::from([pool.index]);
        let is_said = |crowd: &Crowded<'_>| crowd.pools.iter().any(|it| it.index == pool.index);
        let (Some(room), Some(most)) = (on_a_node(pool.index), most(pool.index)) else {
            continue;
        };
        if found.iter().any(is_said) {
            continue;
        }
        let inside = things.iter().enumerate();
        let inside = inside.filter(|(_, (pools, asks))| *pools == only && *asks > 0);
        let inside: Vec<_> = inside.map(|(index, _)| index).collect();
        let pods = inside.iter().flat_map(|index| loads[*index].by_pods(what));
        let needed = sums::nodes_needed(&pods.collect::<Vec<_>>(), room);
        if needed > most {
            found.push(Crowded {
                pools: vec![pool],
                what: what.clone(),
                asked: needed,
                has: most,
                by_nodes: true,
                loads: inside,
            });
        }
    }
    found
}

/// How much of something a node of a pool has for pods, where that is known.
fn on_a_node(cluster: &Cluster, pool: &Pool, what: &What) -> Option<u64> {
    match what {
        What::Device(name) => devices::on_a_node(cluster, pool, name),
        What::Cpu => cluster.room(pool).0.map(|room| room.left),
        What::Memory => cluster.room(pool).1.map(|room| room.left),
        What::Pods | What::Storage => None,
    }
}
