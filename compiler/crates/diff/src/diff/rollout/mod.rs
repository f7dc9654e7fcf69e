//! The rollout plan: steps in order, if one run of the scripts and one sync are not enough.
//!
//! `phases.rs` defines the order. Each other file covers one topic: its functions that return `Vec<Planned>` produce
//! steps, and `phases::PRODUCERS` lists them.

mod cleanup;
mod cloud;
mod cluster_lifecycle;
mod cluster_replacement;
mod commands;
mod data;
mod delivery;
mod gitops;
mod hosts;
mod namespaces;
mod node_provisioners;
mod notebooks;
mod phases;
mod plugins;
mod pruned_pools;
mod queues;
mod recreate;
mod references;
mod renamed_workloads;
mod replacement;
mod scale_down;
mod taints;
mod temporary_drains;
mod uninstall;
mod versions;
mod volume_claims;

use std::collections::BTreeSet;

use gpuc_compile::compile::Compilation;
use gpuc_syntax::source::Sources;

pub use cluster_lifecycle::TEARDOWN;
pub use delivery::BUILD;
use phases::{Phase, Planned};

use super::classify::DiffContext;
use super::entities::EntityKey;
use super::impact::Impact;
use super::report::{Change, ClusterFate, Step};

/// The two states that a rollout leads from and to, with their differences.
pub(super) struct Rollout<'a> {
    /// The entities of both states.
    pub(super) setting: &'a DiffContext<'a>,
    /// The compilation of the old state; `None` for a new cluster.
    pub(super) before: Option<&'a Compilation>,
    /// The compilation of the new state; `None` for a removed cluster.
    pub(super) after: Option<&'a Compilation>,
    /// The differences.
    pub(super) changes: &'a [Change],
    /// The sources of the input.
    pub(super) sources: &'a Sources,
}

/// The steps; none if a run of the scripts and a sync are enough. Commands run in the cluster's directory in the tree.
pub(super) fn plan_steps(rollout: &Rollout<'_>) -> Vec<Step> {
    if rollout.after.is_none() {
        return cluster_lifecycle::remove_cluster(rollout.changes);
    }
    cluster_replacement::replace_cluster(rollout).unwrap_or_else(|| phases::ordered_steps(rollout))
}

/// Converts steps that refer to the changes since the last build, which is older than the base: they then refer to the
/// reported changes, and the first step names the commit of that build.
pub(super) fn rebase_steps(
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
        first.what = format!(
            "(These steps start from the last build, of the input in {commit}.) {}",
            first.what
        );
    }
    steps
}

impl Rollout<'_> {
    /// Whether scripts create the nodes of a changed pool, before or after the change.
    fn has_scripted_nodes(&self, change: &Change) -> bool {
        let sides = [self.setting.before, self.setting.after];
        change.names.iter().any(|name| {
            let pool = EntityKey::Pool(name.clone());
            (sides.iter())
                .filter_map(|side| side.by_key.get(&pool))
                .any(|part| part.node_provisioner.is_none())
        })
    }

    /// The changes with one of these impacts.
    fn changes_with_impact(&self, impacts: &[Impact]) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| impacts.contains(&change.impact))
            .collect()
    }

    /// The numbers of the changes of a pool.
    fn pool_change_ids(&self, pool: &str) -> Vec<usize> {
        change_ids(&pool_changes(self.changes, pool))
    }
}

/// Whether an object has a changed immutable field.
fn has_immutable_field(change: &Change) -> bool {
    change.fields.iter().any(|field| field.is_fixed)
}

/// Sorts numbers and removes duplicates.
fn sorted_unique(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The numbers of changes, as reported.
fn change_ids(changes: &[&Change]) -> Vec<usize> {
    changes.iter().map(|change| change.id).collect()
}

/// The changes of a pool, among these changes.
fn pool_changes<'c>(changes: impl IntoIterator<Item = &'c Change>, pool: &str) -> Vec<&'c Change> {
    (changes.into_iter())
        .filter(|change| change.kind == "pool" && change.names.iter().any(|name| name == pool))
        .collect()
}

/// The names of removed pools, among these changes.
fn removed_pool_names(changes: &[&Change]) -> BTreeSet<String> {
    pool_names(changes, |fate| fate == ClusterFate::Removed)
}

/// The names of added and changed pools, among these changes.
fn remaining_pool_names(changes: &[&Change]) -> BTreeSet<String> {
    pool_names(changes, |fate| fate != ClusterFate::Removed)
}

fn pool_names(changes: &[&Change], has_fate: impl Fn(ClusterFate) -> bool) -> BTreeSet<String> {
    (changes.iter())
        .filter(|change| change.kind == "pool" && has_fate(change.fate))
        .flat_map(|change| change.names.clone())
        .collect()
}
