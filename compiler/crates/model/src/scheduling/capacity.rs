//! Pools whose capacity the long-running workloads exceed.

use std::collections::BTreeSet;

use super::workload::{Load, What};
use super::{bin_packing, resources};
use crate::{Cluster, Pool};

/// Pools that are over capacity.
#[derive(Clone, Debug)]
pub struct Crowded<'c> {
    /// The pools.
    pub pools: Vec<&'c Pool>,
    /// The exhausted resource.
    pub what: What,
    /// The total requests of the loads that fit only on these pools: an amount of the resource, or a number of nodes.
    pub asked: u64,
    /// The capacity of the pools at their maximum node count: an amount of the resource, or a number of nodes.
    pub has: u64,
    /// Whether nodes are counted, because pods cannot share nodes as needed.
    pub by_nodes: bool,
    /// The indexes of the loads that fit only on these pools.
    pub loads: Vec<usize>,
}

/// The pools that fit each of the loads, but not all of them together.
pub fn crowded<'c>(cluster: &'c Cluster, loads: &[Load<'c>]) -> Vec<Crowded<'c>> {
    let names: BTreeSet<String> = loads.iter().flat_map(Load::devices).collect();
    let mut kinds: Vec<What> = names.into_iter().map(What::Device).collect();
    kinds.extend([What::Cpu, What::Memory]);
    let mut found: Vec<Crowded<'c>> = Vec::new();
    for what in kinds {
        for crowd in crowded_by(cluster, loads, &what) {
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

fn crowded_by<'c>(cluster: &'c Cluster, loads: &[Load<'c>], what: &What) -> Vec<Crowded<'c>> {
    let is_device = matches!(what, What::Device(_));
    let requests = loads.iter().map(|load| {
        let pools: BTreeSet<_> = load.pools.iter().map(|pool| pool.index).collect();
        let is_counted = !(is_device && load.shares_a_claim());
        let asks = if is_counted { load.asks(what) } else { 0 };
        (pools, asks)
    });
    let requests: Vec<_> = requests.collect();
    let allocatable_per_node =
        |index: usize| allocatable_per_node(cluster, &cluster.pools[index], what);
    let max_nodes = |index: usize| Some(u64::from(cluster.pools[index].nodes.get()?.max));
    let has = |index: usize| Some(allocatable_per_node(index)?.saturating_mul(max_nodes(index)?));
    let mut found: Vec<_> = bin_packing::excesses(&requests, has)
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
        let is_reported = |crowd: &Crowded<'_>| crowd.pools.iter().any(|it| it.index == pool.index);
        let (Some(room), Some(max_nodes)) =
            (allocatable_per_node(pool.index), max_nodes(pool.index))
        else {
            continue;
        };
        if found.iter().any(is_reported) {
            continue;
        }
        let inside: Vec<_> = requests
            .iter()
            .enumerate()
            .filter(|(_, (pools, asks))| *pools == only && *asks > 0)
            .map(|(index, _)| index)
            .collect();
        let pods = inside.iter().flat_map(|index| loads[*index].by_pods(what));
        let needed = bin_packing::nodes_needed(&pods.collect::<Vec<_>>(), room);
        if needed > max_nodes {
            found.push(Crowded {
                pools: vec![pool],
                what: what.clone(),
                asked: needed,
                has: max_nodes,
                by_nodes: true,
                loads: inside,
            });
        }
    }
    found
}

/// The allocatable amount of a resource on a node of a pool, if it is known.
fn allocatable_per_node(cluster: &Cluster, pool: &Pool, what: &What) -> Option<u64> {
    match what {
        What::Device(name) => resources::count_per_node(cluster, pool, name),
        What::Cpu => cluster.room(pool).0.map(|room| room.left),
        What::Memory => cluster.room(pool).1.map(|room| room.left),
        What::Pods | What::Storage => None,
    }
}
