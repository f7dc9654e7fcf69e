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
    /// The total requests of the workloads that fit only on these pools: an amount of the resource, or a number of
    /// nodes.
    pub requested: u64,
    /// The capacity of the pools at their maximum node count: an amount of the resource, or a number of nodes.
    pub capacity: u64,
    /// Whether nodes are counted, because pods cannot share nodes as needed.
    pub counts_nodes: bool,
    /// The indexes of the workloads that fit only on these pools.
    pub workloads: Vec<usize>,
}

/// The pools that fit each of the workloads, but not all of them together.
pub fn find_over_capacity<'c>(
    cluster: &'c Cluster,
    workloads: &[RunningWorkload<'c>],
) -> Vec<OverCapacity<'c>> {
    let names: BTreeSet<String> = workloads
        .iter()
        .flat_map(RunningWorkload::devices)
        .collect();
    let mut kinds: Vec<QuotaResource> = names.into_iter().map(QuotaResource::Device).collect();
    kinds.extend([QuotaResource::Cpu, QuotaResource::Memory]);
    let mut found: Vec<OverCapacity<'c>> = Vec::new();
    for resource in kinds {
        for over_capacity in find_over_capacity_of(cluster, workloads, &resource) {
            let is_same = |other: &OverCapacity<'_>| {
                let indexes = |pools: &[&Pool]| pools.iter().map(|it| it.index).collect::<Vec<_>>();
                indexes(&other.pools) == indexes(&over_capacity.pools)
            };
            if !found.iter().any(is_same) {
                found.push(over_capacity);
            }
        }
    }
    found
}

fn find_over_capacity_of<'c>(
    cluster: &'c Cluster,
    workloads: &[RunningWorkload<'c>],
    resource: &QuotaResource,
) -> Vec<OverCapacity<'c>> {
    let is_device = matches!(resource, QuotaResource::Device(_));
    let requests = workloads.iter().map(|workload| {
        let pools: BTreeSet<_> = workload.pools.iter().map(|pool| pool.index).collect();
        let is_counted = !(is_device && workload.shares_a_claim());
        let requested = if is_counted {
            workload.requested(resource)
        } else {
            0
        };
        (pools, requested)
    });
    let requests: Vec<_> = requests.collect();
    let allocatable_per_node =
        |index: usize| allocatable_per_node(cluster, &cluster.pools[index], resource);
    let max_nodes = |index: usize| Some(u64::from(cluster.pools[index].nodes.get()?.max));
    let capacity_of =
        |index: usize| Some(allocatable_per_node(index)?.saturating_mul(max_nodes(index)?));
    let mut found: Vec<_> = bin_packing::find_oversubscriptions(&requests, capacity_of)
        .into_iter()
        .map(|oversubscription| OverCapacity {
            pools: oversubscription
                .bins
                .iter()
                .map(|it| &cluster.pools[*it])
                .collect(),
            resource: resource.clone(),
            requested: oversubscription.requested,
            capacity: oversubscription.capacity,
            counts_nodes: false,
            workloads: oversubscription.items,
        })
        .collect();
    for pool in &cluster.pools {
        let only = BTreeSet::from([pool.index]);
        let is_reported = |over_capacity: &OverCapacity<'_>| {
            over_capacity.pools.iter().any(|it| it.index == pool.index)
        };
        let (Some(capacity), Some(max_nodes)) =
            (allocatable_per_node(pool.index), max_nodes(pool.index))
        else {
            continue;
        };
        if found.iter().any(is_reported) {
            continue;
        }
        let members: Vec<_> = requests
            .iter()
            .enumerate()
            .filter(|(_, (pools, requested))| *pools == only && *requested > 0)
            .map(|(index, _)| index)
            .collect();
        let pods = members
            .iter()
            .flat_map(|index| workloads[*index].requests_by_group(resource));
        let required = bin_packing::nodes_needed(&pods.collect::<Vec<_>>(), capacity);
        if required > max_nodes {
            found.push(OverCapacity {
                pools: vec![pool],
                resource: resource.clone(),
                requested: required,
                capacity: max_nodes,
                counts_nodes: true,
                workloads: members,
            });
        }
    }
    found
}

/// The allocatable amount of a resource on a node of a pool, if it is known.
fn allocatable_per_node(cluster: &Cluster, pool: &Pool, resource: &QuotaResource) -> Option<u64> {
    match resource {
        QuotaResource::Device(name) => resources::count_per_node(cluster, pool, name),
        QuotaResource::Cpu => cluster
            .node_capacity(pool)
            .0
            .map(|capacity| capacity.allocatable),
        QuotaResource::Memory => cluster
            .node_capacity(pool)
            .1
            .map(|capacity| capacity.allocatable),
        QuotaResource::Pods | QuotaResource::Storage => None,
    }
}
