//! The two states that a rollout leads from and to.

use gpuc_compile::compile::Compilation;
use gpuc_syntax::source::Sources;

use super::super::classify::DiffContext;
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::report::Change;
use super::changed_pools::{change_ids, pool_changes};

/// The two states that a rollout leads from and to, with their differences.
pub(in crate::diff) struct Rollout<'a> {
    /// The entities of both states.
    pub(in crate::diff) setting: &'a DiffContext<'a>,
    /// The compilation of the old state; `None` for a new cluster.
    pub(in crate::diff) before: Option<&'a Compilation>,
    /// The compilation of the new state; `None` for a removed cluster.
    pub(in crate::diff) after: Option<&'a Compilation>,
    /// The differences.
    pub(in crate::diff) changes: &'a [Change],
    /// The sources of the input.
    pub(in crate::diff) sources: &'a Sources,
}

impl Rollout<'_> {
    /// Whether scripts create the nodes of a changed pool, before or after the change.
    pub(super) fn has_scripted_nodes(&self, change: &Change) -> bool {
        let sides = [self.setting.before, self.setting.after];
        change.names.iter().any(|name| {
            let pool = EntityKey::Pool(name.clone());
            (sides.iter())
                .filter_map(|side| side.by_key.get(&pool))
                .any(|entity| entity.node_provisioner.is_none())
        })
    }

    /// The changes with one of these impacts.
    pub(super) fn changes_with_impact(&self, impacts: &[Impact]) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| impacts.contains(&change.impact))
            .collect()
    }

    /// The numbers of the changes of a pool.
    pub(super) fn pool_change_ids(&self, pool: &str) -> Vec<usize> {
        change_ids(&pool_changes(self.changes, pool))
    }
}
