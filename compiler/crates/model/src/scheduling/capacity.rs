//! Pools whose capacity the long-running workloads exceed.

use std::collections::BTreeSet;

use super::workload::{QuotaResource, RunningWorkload};
use super::{bin_packing, resources};
use crate::{Cluster, Pool};

/// Pools that are over capacity.
#[derive(Clone, Debug)]
pub struct OverCapacity<'c> {
    /// The pools.
    pub pools: Vec<&'c Pool>,
    /// The exhausted resource.
    pub resource: QuotaResource,
    /// The total requests of the loads that fit only on these pools: an amount of the resource, or a number of nodes.
    pub requested: u64,
    /// The capacity of the pools at their maximum node count: an amount of the resource, or a number of nodes.
    pub capacity: u64,
    /// Whether nodes are counted, because pods cannot share nodes as needed.
    pub counts_nodes: bool,
    /// The indexes of the loads that fit only on these pools.
    pub workloads: Vec<usize>,
}

/// The pools that fit each of the loads, but not all of them together.
pub fn find_over_capacity<'c>(
    cluster: &'c Cluster,
    loads: &[RunningWorkload<'c>],
) -> Vec<OverCapacity<'c>> {
    let names: BTreeSet<String> = loads.iter().flat_map(RunningWorkload::devices).collect();
    let mut kinds: Vec<QuotaResource> = names.into_iter().map(QuotaResource::Device).collect();
    kinds.extend([QuotaResource::Cpu, QuotaResource::Memory]);
    let mut found: Vec<OverCapacity<'c>> = Vec::new();
    for what in kinds {
        for crowd in find_over_capacity_of(cluster, loads, &what) {
            let is_same = |other: &OverCapacity<'_>| {
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

fn find_over_capacity_of<'c>(
    cluster: &'c Cluster,
    loads: &[RunningWorkload<'c>],
    what: &QuotaResource,
) -> Vec<OverCapacity<'c>> {
    let is_device = matches!(what, QuotaResource::Device(_));
    let requests = loads.iter().map(|load| {
        let pools: BTreeSet<_> = load.pools.iter().map(|pool| pool.index).collect();
        let is_counted = !(is_device && load.shares_a_claim());
        let asks = if is_counted { load.requested(what) } else { 0 };
        (pools, asks)
    });
    let requests: Vec<_> = requests.collect();
    let allocatable_per_node =
        |index: usize| allocatable_per_node(cluster, &cluster.pools[index], what);
    let max_nodes = |index: usize| Some(u64::from(cluster.pools[index].nodes.get()?.max));
    let capacity_of =
        |index: usize| Some(allocatable_per_node(index)?.saturating_mul(max_nodes(index)?));
    let mut found: Vec<_> = bin_packing::find_oversubscriptions(&requests, capacity_of)
        .into_iter()
        .map(|excess| OverCapacity {
            pools: excess.places.iter().map(|it| &cluster.pools[*it]).collect(),
            resource: what.clone(),
            requested: excess.requested,
            capacity: excess.capacity,
            counts_nodes: false,
            workloads: excess.items,
        })
        .collect();
    for pool in &cluster.pools {
        let only = BTreeSet::from([pool.index]);
        let is_reported =
            |crowd: &OverCapacity<'_>| crowd.pools.iter().any(|it| it.index == pool.index);
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
        let pods = inside
            .iter()
            .flat_map(|index| loads[*index].requests_by_group(what));
        let needed = bin_packing::nodes_needed(&pods.collect::<Vec<_>>(), room);
        if needed > max_nodes {
            found.push(OverCapacity {
                pools: vec![pool],
                resource: what.clone(),
                requested: needed,
                capacity: max_nodes,
                counts_nodes: true,
                workloads: inside,
            });
        }
    }
    found
}

/// The allocatable amount of a resource on a node of a pool, if it is known.
fn allocatable_per_node(cluster: &Cluster, pool: &Pool, what: &QuotaResource) -> Option<u64> {
    match what {
        QuotaResource::Device(name) => resources::count_per_node(cluster, pool, name),
        QuotaResource::Cpu => cluster.node_capacity(pool).0.map(|room| room.allocatable),
        QuotaResource::Memory => cluster.node_capacity(pool).1.map(|room| room.allocatable),
        QuotaResource::Pods | QuotaResource::Storage => None,
    }
}
