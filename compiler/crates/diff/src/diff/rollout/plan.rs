//! The plan: the steps of a change, of a new or removed cluster, or since the last build.

use super::super::report::{Change, Step};
use super::changed_pools::sorted_unique;
use super::cluster_lifecycle::remove_cluster;
use super::cluster_replacement::replace_cluster;
use super::producers::ordered_steps;
use super::states::Rollout;

/// The steps; none if a run of the scripts and a sync are enough. Commands run in the cluster's directory in the tree.
pub(in crate::diff) fn plan_steps(rollout: &Rollout<'_>) -> Vec<Step> {
    if rollout.after.is_none() {
        return remove_cluster(rollout.changes);
    }
    replace_cluster(rollout).unwrap_or_else(|| ordered_steps(rollout))
}

/// Converts steps that refer to the changes since the last build, which is older than the base: they then refer to the
/// reported changes, and the first step names the commit of that build.
pub(in crate::diff) fn rebase_steps(
    mut steps: Vec<Step>,
    commit: &str,
    since_build: &[Change],
    reported: &[Change],
) -> Vec<Step> {
    let is_same = |one: &Change, other: &Change| {
        one.kind == other.kind && one.names.iter().any(|name| other.names.contains(name))
    };
    for step in &mut steps {
        let matching = (since_build.iter())
            .filter(|change| step.changes.contains(&change.id))
            .flat_map(|change| reported.iter().filter(move |other| is_same(change, other)))
            .map(|change| change.id)
            .collect();
        step.changes = sorted_unique(matching);
    }
    if let Some(first) = steps.first_mut() {
        first.instruction = format!(
            "(These steps start from the last build, of the input in {commit}.) {}",
            first.instruction
        );
    }
    steps
}
