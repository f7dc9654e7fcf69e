//! Removed pools whose components the GitOps controller prunes at the push: they are drained before it, or stay in the
//! input until new pools replace them.

use super::super::impact::Impact;
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, pool_changes, removed_pool_names};
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The steps for removed pools that are replaced: the new pools are created first.
pub(super) fn keep_pruned_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removals = rollout.removal_changes();
    let steps = (rollout.pruned_pools().into_iter())
        .filter(|pool| rollout.stays_until_replaced(pool))
        .map(|pool| Step {
            instruction: format!(
                "{} prunes the components of pool {pool} as soon as you push a tree without it: leave it in \
                 gpu-cluster.yaml for now, next to the new pools",
                rollout.setting.after.controller
            ),
            commands: Vec::new(),
            changes: change_ids(&pool_changes(removals.iter().copied(), &pool)),
        });
    Phase::EditInput.plan(steps)
}

/// The steps for removed pools without a replacement: they are drained while their components still run.
pub(super) fn drain_pruned_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removals = rollout.removal_changes();
    let tool = rollout.setting.after.controller;
    let describe = |pool: &str| match rollout.node_provisioners(pool)[0] {
        Some(provisioner) => format!(
            "When pool {pool} is no longer needed, drain its nodes before you push the change: {tool} then prunes the \
             objects of {0}, and {0} deletes the nodes. Until the push, {0} creates other nodes for pending pods",
            provisioner.name
        ),
        None => format!(
            "When the old nodes of pool {pool} are no longer needed, drain them before you push the change: {tool} \
             then prunes their components"
        ),
    };
    let steps = (rollout.pruned_pools().into_iter())
        .filter(|pool| {
            let is_scripted = rollout.node_provisioners(pool)[0].is_none();
            rollout.is_drained_before_push(pool) && !(is_scripted && rollout.is_removed_first(pool))
        })
        .map(|pool| Step {
            instruction: describe(&pool),
            commands: rollout.drain_pool_commands(&pool),
            changes: change_ids(&pool_changes(removals.iter().copied(), &pool)),
        });
    Phase::DrainPrunedPools.plan(steps)
}

impl Rollout<'_> {
    /// The changes that remove or replace a pool or another resource.
    pub(super) fn removal_changes(&self) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| {
                [Impact::Deleted, Impact::Replaced].contains(&change.impact)
                    || self.is_superseded_by_new_pools(change)
            })
            .collect()
    }

    /// Whether new pools replace existing nodes, which are removed from the input and which gpuc did not create.
    fn is_superseded_by_new_pools(&self, change: &Change) -> bool {
        let is_existing =
            |pool: &String| self.both_pools(pool)[0].is_some_and(|pool| pool.is_existing());
        change.kind == "pool"
            && change.status == Status::Removed
            && change.names.iter().any(is_existing)
            && self.has_new_pools()
    }

    fn has_new_pools(&self) -> bool {
        (self.changes.iter()).any(|change| change.kind == "pool" && change.status == Status::Added)
    }

    /// Removed pools whose components are pruned as soon as the change is pushed.
    fn pruned_pools(&self) -> Vec<String> {
        if !self.setting.prunes_removed {
            return Vec::new();
        }
        let has_components = |name: &String| {
            let mut pools = self.setting.before.summary.pools.iter();
            pools.any(|pool| pool.name == *name && !pool.gpus.is_empty())
                || self.node_provisioners(name)[0].is_some()
        };
        removed_pool_names(&self.removal_changes())
            .into_iter()
            .filter(has_components)
            .collect()
    }

    /// Whether a removed pool must stay in the input until the new pools are ready.
    pub(super) fn stays_until_replaced(&self, pool: &str) -> bool {
        self.has_new_pools()
            && !self.cannot_coexist_with_replacement(pool)
            && self.pruned_pools().iter().any(|name| name == pool)
    }

    /// Whether a pool is drained before the change is pushed.
    pub(super) fn is_drained_before_push(&self, pool: &str) -> bool {
        self.pruned_pools().iter().any(|name| name == pool) && !self.stays_until_replaced(pool)
    }
}
