//! Pools of node provisioners in the cluster: they drain nodes as soon as their objects change, so users need a
//! warning.

use std::collections::BTreeSet;

use gpuc_model::POOL_LABEL;
use gpuc_model::plan::NodeProvisioner;
use gpuc_syntax::shell;

use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, remaining_pool_names, sorted_unique};
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// A change of the node provisioner of a pool that is on both sides.
pub(super) enum ProvisionerChange {
    /// From scripts to a provisioner in the cluster.
    To(&'static NodeProvisioner),
    /// From a provisioner in the cluster to scripts.
    From(&'static NodeProvisioner),
}

/// Pools whose nodes no longer match the objects of their provisioner.
struct Drift {
    provisioner: &'static NodeProvisioner,
    pools: BTreeSet<String>,
    /// The numbers of the changes, possibly repeated.
    changes: Vec<usize>,
}

/// The steps that drain nodes right before the push that deletes them.
pub(super) fn drain_returned_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let replaced = rollout.changes_with_impact(&[Impact::Replaced]);
    let steps = remaining_pool_names(&replaced)
        .into_iter()
        .filter_map(|pool| match rollout.provisioner_change(&pool)? {
            ProvisionerChange::From(provisioner) if rollout.setting.prunes_removed => {
                Some((pool, provisioner))
            }
            _ => None,
        })
        .map(|(pool, provisioner)| {
            let nodes = shell::quote(&format!("{POOL_LABEL}={pool},{}", provisioner.label));
            Step {
                instruction: format!(
                    "Right before the push, when jobs may be interrupted, drain the nodes that {0} created for pool \
                     {pool}: {1} then prunes the objects of {0}, which deletes the nodes. Until the push, {0} creates \
                     other nodes for pending pods",
                    provisioner.name, rollout.setting.before.controller
                ),
                commands: rollout.drain_commands(&nodes),
                changes: rollout.pool_change_ids(&pool),
            }
        });
    Phase::DrainReturnedPools.plan(steps)
}

/// The steps before and after drifted nodes are replaced.
pub(super) fn await_drift(rollout: &Rollout<'_>) -> Vec<Planned> {
    let Some(drift) = rollout.find_drift() else {
        return Vec::new();
    };
    let changes = sorted_unique(drift.changes);
    let pools: Vec<String> = drift.pools.into_iter().collect();
    let provisioner = drift.provisioner.name;
    let (selector, nodes) = match pools.as_slice() {
        [pool] => (format!("{POOL_LABEL}={pool}"), format!("pool {pool}")),
        _ => (
            format!("{POOL_LABEL} in ({})", pools.join(",")),
            format!("pools {}", pools.join(", ")),
        ),
    };
    let get = format!(
        "{} get nodes -l {}",
        rollout.kubectl(),
        shell::quote(&selector)
    );
    let is_blocked = (pools.iter()).any(|pool| rollout.full_reservation(pool).is_some());
    let announce = Step {
        instruction: format!(
            "Continue when jobs may be interrupted: with the next step {provisioner} drains and replaces the existing \
             nodes of {nodes}, one after another{}",
            if is_blocked {
                "; if a reservation has no free machine, only when you delete a node, as in a step below"
            } else {
                ""
            }
        ),
        commands: vec![get.clone()],
        changes: changes.clone(),
    };
    let wait = Step {
        instruction: format!("Wait until {provisioner} has replaced every node of {nodes}"),
        commands: vec![get],
        changes,
    };
    [
        Phase::AnnounceDrift.plan([announce]),
        Phase::AwaitDrift.plan([wait]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The steps that wait for nodes to be deleted before the scripts reuse their machines.
pub(super) fn await_node_deletion(rollout: &Rollout<'_>) -> Vec<Planned> {
    let steps = rollout.pools_created_after_push().into_iter().map(|pool| Step {
        instruction: format!(
            "Wait until the nodes of pool {pool} are gone: its reservation has no machines for additional nodes"
        ),
        commands: vec![rollout.get_nodes_command(&pool)],
        changes: rollout.pool_change_ids(&pool),
    });
    Phase::AwaitNodeDeletion.plan(steps)
}

/// The steps for drifted nodes that cannot be replaced automatically: the replacement is created before a node is
/// drained, and no machine is available for it.
///
/// Source: karpenter.sh/docs/concepts/disruption (replacements become ready before a node is deleted; a node that a
/// user deletes is drained first, for its finalizer), read 2026-11-22.
pub(super) fn delete_drifted_nodes(rollout: &Rollout<'_>) -> Vec<Planned> {
    let Some(Drift {
        provisioner, pools, ..
    }) = rollout.find_drift()
    else {
        return Vec::new();
    };
    let kubectl = rollout.kubectl();
    let steps = pools.into_iter().filter_map(|pool| {
        let (reservation, count) = rollout.full_reservation(&pool)?;
        let machines = match count {
            Some(1) => "while its machine is in use".to_owned(),
            Some(count) => format!("while all of its {count} machines are in use"),
            None => "while all of its machines are in use".to_owned(),
        };
        let nodes = shell::quote(&format!("{POOL_LABEL}={pool},{}", provisioner.label));
        let is_of_pool = |change: &&Change| {
            let is_object = |(kind, _): &(&str, &str)| *kind == change.kind;
            change.names.contains(&pool)
                && (change.kind == "pool" || provisioner.kinds.iter().any(is_object))
        };
        let changes: Vec<&Change> = rollout.changes.iter().filter(is_of_pool).collect();
        Some(Step {
            instruction: format!(
                "{0} creates a replacement before it drains a node of pool {pool}, but reservation {reservation} has \
                 no free machine {machines}, so no node is replaced. When jobs may be interrupted, delete the nodes \
                 that are older than this change: each is drained first, and {0} reuses its machine. To replace one \
                 node at a time, give its name instead of the labels",
                provisioner.name,
            ),
            commands: vec![
                format!("{kubectl} get nodes -l {nodes}"),
                format!("{kubectl} delete nodes -l {nodes}"),
            ],
            changes: sorted_unique(change_ids(&changes)),
        })
    });
    Phase::DeleteDriftedNodes.plan(steps)
}

impl Rollout<'_> {
    /// The node provisioners of a pool before and after.
    pub(super) fn node_provisioners(&self, pool: &str) -> [Option<&'static NodeProvisioner>; 2] {
        let key = EntityKey::Pool(pool.to_owned());
        [self.setting.before, self.setting.after]
            .map(|side| side.by_key.get(&key)?.node_provisioner)
    }

    /// The change of a pool's node provisioner, if any.
    pub(super) fn provisioner_change(&self, pool: &str) -> Option<ProvisionerChange> {
        let key = EntityKey::Pool(pool.to_owned());
        let old = self.setting.before.by_key.get(&key)?;
        let new = self.setting.after.by_key.get(&key)?;
        match (old.node_provisioner, new.node_provisioner) {
            (None, Some(provisioner)) if !old.members.is_empty() => {
                Some(ProvisionerChange::To(provisioner))
            }
            (Some(provisioner), None) if !new.members.is_empty() => {
                Some(ProvisionerChange::From(provisioner))
            }
            _ => None,
        }
    }

    /// Whether an object belongs to a node provisioner, so that the pool's step already deletes it.
    pub(super) fn is_provisioner_object(&self, kind: &str, name: &str) -> bool {
        let [old, _] = self.node_provisioners(name);
        old.is_some_and(|provisioner| provisioner.kinds.iter().any(|(other, _)| *other == kind))
    }

    /// The commands that delete a pool's objects of its provisioner and list its nodes, which are deleted with them.
    pub(super) fn delete_provisioner_commands(
        &self,
        pool: &str,
        provisioner: &NodeProvisioner,
    ) -> Vec<String> {
        (provisioner.kinds.iter())
            .map(|(_, resource)| self.delete_command(resource, pool))
            .chain([self.get_nodes_command(pool)])
            .collect()
    }

    /// The steps that remove a pool of a node provisioner, by deleting its objects.
    pub(super) fn remove_provisioned_pool(
        &self,
        pool: &str,
        provisioner: &NodeProvisioner,
        changes: &[&Change],
    ) -> Vec<Step> {
        if !self.setting.prunes_removed {
            return vec![Step {
                instruction: format!(
                    "When pool {pool} is no longer needed, delete its {0} objects: {0} drains and deletes the existing \
                     nodes",
                    provisioner.name,
                ),
                commands: self.delete_provisioner_commands(pool, provisioner),
                changes: change_ids(changes),
            }];
        }
        let is_in_input = self.stays_until_replaced(pool);
        let edit = if is_in_input {
            "Remove it from gpu-cluster.yaml, build, commit and push. "
        } else {
            ""
        };
        let drain = is_in_input.then(|| Step {
            instruction: format!("When pool {pool} is no longer needed, drain its nodes"),
            commands: self.drain_pool_commands(pool),
            changes: change_ids(changes),
        });
        let check = Step {
            instruction: format!(
                "{edit}Check that the nodes of pool {pool} are gone: {} drains and deletes them when {} has pruned its \
                 objects",
                provisioner.name, self.setting.before.controller
            ),
            commands: vec![self.get_nodes_command(pool)],
            changes: change_ids(changes),
        };
        drain.into_iter().chain([check]).collect()
    }

    /// The steps that remove a pool's nodes of the old provisioner.
    pub(super) fn hand_over_nodes(
        &self,
        pool: &str,
        provisioner_change: &ProvisionerChange,
        changes: &[&Change],
    ) -> Vec<Step> {
        match provisioner_change {
            ProvisionerChange::To(provisioner) => {
                self.replace_scripted_nodes(pool, provisioner, changes)
            }
            ProvisionerChange::From(provisioner) if self.setting.prunes_removed => vec![Step {
                instruction: format!(
                    "{} prunes the {1} objects of pool {pool}, and {1} drains and deletes its nodes: check that they \
                     are gone before you remove {1}",
                    self.setting.before.controller, provisioner.name
                ),
                commands: vec![self.get_nodes_command(pool)],
                changes: change_ids(changes),
            }],
            ProvisionerChange::From(provisioner) => vec![Step {
                instruction: format!(
                    "When the nodes that the scripts created for pool {pool} are ready, delete the pool's {0} objects: \
                     {0} drains and deletes its own nodes, so it must still run. Until then both create nodes for \
                     pending pods, and a pool with a minimum of 0 starts without nodes",
                    provisioner.name
                ),
                commands: self.delete_provisioner_commands(pool, provisioner),
                changes: change_ids(changes),
            }],
        }
    }

    /// The steps that remove nodes created by scripts when a provisioner can create others.
    fn replace_scripted_nodes(
        &self,
        pool: &str,
        provisioner: &NodeProvisioner,
        changes: &[&Change],
    ) -> Vec<Step> {
        let step = |what: String, commands: Vec<String>| Step {
            instruction: what,
            commands,
            changes: change_ids(changes),
        };
        let kubectl = self.kubectl();
        let wait = provisioner.kinds.iter().map(|(_, resource)| {
            let object = shell::quote(&format!("{resource}/{pool}"));
            format!("{kubectl} wait --for=condition=Ready {object} --timeout=10m")
        });
        let old_nodes = shell::quote(&format!("{POOL_LABEL}={pool},!{}", provisioner.label));
        vec![
            step(
                format!(
                    "Check that {} is ready to create nodes for pool {pool}",
                    provisioner.name
                ),
                wait.collect(),
            ),
            step(
                format!(
                    "Drain the nodes of pool {pool} that the scripts created; {} then creates nodes for pending pods{}",
                    provisioner.name,
                    if self.uses_reservation(pool) {
                        " once their machines are back in the reservation, after the next step"
                    } else {
                        ""
                    }
                ),
                self.drain_commands(&old_nodes),
            ),
            step(
                format!(
                    "Delete the cloud resources that the scripts created for pool {pool}: nothing else deletes them"
                ),
                self.removal_commands(|resource| resource.script == format!("pool-{pool}")),
            ),
        ]
    }

    /// The pools whose nodes no longer match the objects of their provisioner. A cluster has one provisioner.
    fn find_drift(&self) -> Option<Drift> {
        let mut drift: Option<Drift> = None;
        for change in self.changes_with_impact(&[Impact::NodesRecreated]) {
            if change.status != Status::Kept {
                continue;
            }
            for pool in &change.names {
                let [Some(provisioner), Some(_)] = self.node_provisioners(pool) else {
                    continue;
                };
                if !(provisioner.kinds.iter()).any(|(kind, _)| *kind == change.kind) {
                    continue;
                }
                let drift = drift.get_or_insert_with(|| Drift {
                    provisioner,
                    pools: BTreeSet::new(),
                    changes: Vec::new(),
                });
                drift.pools.insert(pool.clone());
                drift.changes.push(change.id);
            }
        }
        drift
    }
}
