//! Pod sets that queues admit as a unit. Kueue assigns one flavor for each resource to a pod set, which is one pool:
//! the sum of several pools does not help.
//!
//! Source: <https://kueue.sigs.k8s.io/docs/concepts/workload/>, "Pod sets", and kubernetes-sigs/kueue
//! `pkg/scheduler/flavorassigner/flavorassigner.go` (from memory).

use std::collections::BTreeSet;

use gpuc_schema::config::Task;

use super::usage::is_covered_by;
use super::workload::{QuotaResource, RunningWorkload};
use crate::{Cluster, Grant, Team};

/// The maximum number of combinations to try. Beyond it the result is uncertain.
const MAX_COMBINATIONS: u32 = 100_000;

/// Pod sets that a queue never admits, because they do not fit into the team's quota of single pools.
#[derive(Clone, Debug)]
pub struct UnschedulablePodSets<'t> {
    /// The device.
    pub resource: String,
    /// The number of devices that each pod set needs, the largest first.
    pub pod_set_devices: Vec<u64>,
    /// The team's grants in each pool that they fit on, with the reachable number of devices.
    pub reachable_grants: Vec<(&'t Grant, u64)>,
}

impl UnschedulablePodSets<'_> {
    /// The maximum that the team can reach in a single pool.
    pub fn max_in_one_pool(&self) -> u64 {
        self.reachable_grants
            .iter()
            .map(|(_, capacity)| *capacity)
            .max()
            .unwrap_or(0)
    }
}

/// The number of pods in each pod set of a task. The pods of a Deployment are admitted one by one; leaders are a
/// separate pod set from their workers.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/{deployment,pytorchjob,leaderworkerset}` (from memory).
pub fn pod_sets(task: Task<'_>) -> Vec<u64> {
    let sets = match task {
        Task::Deployment(_) => vec![task.max_pods().min(1)],
        Task::PytorchJob(it) => vec![1, it.nodes.value.saturating_sub(1)],
        Task::LeaderWorkerSet(it) if it.replicas.value == 0 => Vec::new(),
        Task::LeaderWorkerSet(it) => vec![1, it.nodes.value.saturating_sub(1)],
        _ => vec![task.max_pods()],
    };
    sets.into_iter().map(u64::from).collect()
}

/// The pod sets of a workload that never fit into single pools within the team's quota.
pub fn find_unschedulable<'t>(
    cluster: &Cluster,
    team: &'t Team,
    workload: &RunningWorkload<'_>,
) -> Option<UnschedulablePodSets<'t>> {
    if !cluster.has_queues() || team.has_unknown_grants() || workload.shares_a_claim() {
        return None;
    }
    workload.devices().into_iter().find_map(|resource| {
        let named = || team.grants().filter(|grant| grant.resource == resource);
        // Another rule reports resources for which the team has no quota.
        named().next()?;
        let granted = named().filter(|grant| is_covered_by(team, grant, workload, &resource));
        let granted: Vec<_> = granted
            .map(|grant| (grant, cluster.max_reachable(team, grant)))
            .collect();
        let quota_resource = QuotaResource::Device(resource.clone());
        let groups = workload.groups.iter();
        let sets = groups.flat_map(|group| {
            let per_pod = group.per_pod(&quota_resource);
            group
                .pod_sets
                .iter()
                .map(move |pods| pods.saturating_mul(per_pod))
        });
        let mut sets: Vec<_> = sets.filter(|set| *set > 0).collect();
        sets.sort_unstable_by(|one, other| other.cmp(one));
        let capacities: Vec<_> = granted.iter().map(|(_, capacity)| *capacity).collect();
        (!can_assign(&sets, &capacities)).then_some(UnschedulablePodSets {
            resource,
            pod_set_devices: sets,
            reachable_grants: granted,
        })
    })
}

/// Whether each of these sets can be assigned to one bin within the capacities. If there are too many combinations to
/// try, the result is true.
pub fn can_assign(sets: &[u64], capacities: &[u64]) -> bool {
    let mut sets: Vec<_> = sets.iter().copied().filter(|set| *set > 0).collect();
    sets.sort_unstable_by(|one, other| other.cmp(one));
    let all = sets.iter().copied().fold(0, u64::saturating_add);
    if all > capacities.iter().copied().fold(0, u64::saturating_add) {
        return false;
    }
    assign(&sets, &mut capacities.to_vec(), &mut 0)
}

fn assign(sets: &[u64], remaining: &mut Vec<u64>, attempts: &mut u32) -> bool {
    let Some((set, rest)) = sets.split_first() else {
        return true;
    };
    *attempts += 1;
    if *attempts > MAX_COMBINATIONS {
        return true;
    }
    let mut tried = BTreeSet::new();
    for index in 0..remaining.len() {
        let capacity = remaining[index];
        if capacity < *set || !tried.insert(capacity) {
            continue;
        }
        remaining[index] -= set;
        let is_placed = assign(rest, remaining, attempts);
        remaining[index] = capacity;
        if is_placed {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn set_is_assigned_to_one_bin() {
        assert!(can_assign(&[28], &[28, 10]));
        assert!(!can_assign(&[29], &[28, 10]));
        assert!(can_assign(&[10, 28], &[28, 10]));
        assert!(!can_assign(&[16, 16], &[28, 10]));
        assert!(can_assign(&[0, 0], &[]));
        assert!(!can_assign(&[1], &[]));
        assert!(!can_assign(&[u64::MAX, u64::MAX], &[u64::MAX]));
    }

    /// Tries every assignment of sets to bins.
    fn an_assignment_fits(sets: &[u64], capacities: &[u64]) -> bool {
        let choices = capacities.len().pow(u32::try_from(sets.len()).unwrap());
        (0..choices).any(|choice| {
            let mut remaining: Vec<_> = capacities.iter().map(|it| i128::from(*it)).collect();
            let mut choice = choice;
            for set in sets {
                remaining[choice % capacities.len()] -= i128::from(*set);
                choice /= capacities.len();
            }
            remaining.iter().all(|it| *it >= 0)
        })
    }

    proptest! {
        #[test]
        fn assignment_is_found_if_one_exists(
            sets in prop::collection::vec(1..9u64, 0..6),
            capacities in prop::collection::vec(0..16u64, 1..4),
        ) {
            prop_assert_eq!(can_assign(&sets, &capacities), an_assignment_fits(&sets, &capacities));
        }
    }
}
