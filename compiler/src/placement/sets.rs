//! What queues let start together. The pods of a set are given one flavor for each resource, which is one pool: what
//! several pools have together does not help them.
//!
//! Source: <https://kueue.sigs.k8s.io/docs/concepts/workload/>, "Pod sets", and kubernetes-sigs/kueue
//! `pkg/scheduler/flavorassigner/flavorassigner.go` (from memory).

use std::collections::BTreeSet;

use gpuc_schema::config::Task;

use super::load::{Load, What};
use super::spent::is_of;
use crate::model::{Cluster, Grant, Team};

/// More ways than these are not tried: then nothing is certain.
const MANY: u32 = 100_000;

/// Sets of pods that a queue never lets start, because no pool has as much of something as they need.
#[derive(Clone, Debug)]
pub struct Stuck<'t> {
    /// The device.
    pub resource: String,
    /// How many each set needs, the largest first.
    pub sets: Vec<u64>,
    /// What their team may have of each pool that holds them, and how many that can ever be.
    pub granted: Vec<(&'t Grant, u64)>,
}

impl Stuck<'_> {
    /// What the team may have of any one pool.
    pub fn most(&self) -> u64 {
        let most = self.granted.iter().map(|(_, has)| *has);
        most.max().unwrap_or(0)
    }
}

/// How many pods of a task a queue lets start as one, for each of the sets that start together. Pods of a Deployment
/// each start alone; leaders are a set beside their workers.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/{deployment,pytorchjob,leaderworkerset}` (from memory).
pub fn sets(task: Task<'_>) -> Vec<u64> {
    let sets = match task {
        Task::Deployment(_) => vec![task.most_pods().min(1)],
        Task::PytorchJob(it) => vec![1, it.nodes.value.saturating_sub(1)],
        Task::LeaderWorkerSet(it) if it.replicas.value == 0 => Vec::new(),
        Task::LeaderWorkerSet(it) => vec![1, it.nodes.value.saturating_sub(1)],
        _ => vec![task.most_pods()],
    };
    sets.into_iter().map(u64::from).collect()
}

/// What of a workload's pods never finds a pool each, as far as its team may use them.
pub fn stuck<'t>(cluster: &Cluster, team: &'t Team, load: &Load<'_>) -> Option<Stuck<'t>> {
    if !cluster.has_queues() || team.has_unknown_grants() || load.shares_a_claim() {
        return None;
    }
    load.devices().into_iter().find_map(|resource| {
        let named = || team.grants().filter(|grant| grant.resource == resource);
        // What the team has nothing of at all is another finding.
        named().next()?;
        let granted = named().filter(|grant| is_of(team, grant, load, &resource));
        let granted: Vec<_> = granted
            .map(|grant| (grant, cluster.reachable(team, grant)))
            .collect();
        let what = What::Device(resource.clone());
        let groups = load.groups.iter();
        let sets = groups.flat_map(|group| {
            let each = group.each(&what);
            group.sets.iter().map(move |pods| pods.saturating_mul(each))
        });
        let mut sets: Vec<_> = sets.filter(|set| *set > 0).collect();
        sets.sort_unstable_by(|one, other| other.cmp(one));
        let has: Vec<_> = granted.iter().map(|(_, has)| *has).collect();
        (!find_places(&sets, &has)).then_some(Stuck {
            resource,
            sets,
            granted,
        })
    })
}

/// Whether each of these sets finds one place that has room for it beside those that are there. Where there are too
/// many ways to try, it may.
pub fn find_places(sets: &[u64], has: &[u64]) -> bool {
    let mut sets: Vec<_> = sets.iter().copied().filter(|set| *set > 0).collect();
    sets.sort_unstable_by(|one, other| other.cmp(one));
    let all = sets.iter().copied().fold(0, u64::saturating_add);
    if all > has.iter().copied().fold(0, u64::saturating_add) {
        return false;
    }
    place(&sets, &mut has.to_vec(), &mut 0)
}

fn place(sets: &[u64], left: &mut Vec<u64>, tried: &mut u32) -> bool {
    let Some((set, rest)) = sets.split_first() else {
        return true;
    };
    *tried += 1;
    if *tried > MANY {
        return true;
    }
    let mut alike = BTreeSet::new();
    for index in 0..left.len() {
        let room = left[index];
        if room < *set || !alike.insert(room) {
            continue;
        }
        left[index] -= set;
        let is_placed = place(rest, left, tried);
        left[index] = room;
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
    fn a_set_is_in_one_place() {
        assert!(find_places(&[28], &[28, 10]));
        assert!(!find_places(&[29], &[28, 10]));
        assert!(find_places(&[10, 28], &[28, 10]));
        assert!(!find_places(&[16, 16], &[28, 10]));
        assert!(find_places(&[0, 0], &[]));
        assert!(!find_places(&[1], &[]));
        assert!(!find_places(&[u64::MAX, u64::MAX], &[u64::MAX]));
    }

    /// Every choice of a place for each set.
    fn some_choice_fits(sets: &[u64], has: &[u64]) -> bool {
        let choices = has.len().pow(u32::try_from(sets.len()).unwrap());
        (0..choices).any(|choice| {
            let mut left: Vec<_> = has.iter().map(|it| i128::from(*it)).collect();
            let mut choice = choice;
            for set in sets {
                left[choice % has.len()] -= i128::from(*set);
                choice /= has.len();
            }
            left.iter().all(|it| *it >= 0)
        })
    }

    proptest! {
        #[test]
        fn places_are_found_where_some_choice_of_them_fits(
            sets in prop::collection::vec(1..9u64, 0..6),
            has in prop::collection::vec(0..16u64, 1..4),
        ) {
            prop_assert_eq!(find_places(&sets, &has), some_choice_fits(&sets, &has));
        }
    }
}
