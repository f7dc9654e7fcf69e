//! Pools that lose nodes: the cloud chooses which nodes to remove, so pods must move first.

use gpuc_model::{NodeRange, POOL_LABEL, plan};
use gpuc_syntax::shell;
use serde_json::Value as Json;

use super::super::entities::{Entity, EntityKey};
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, has_immutable_field};
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// Kinds of workloads.
const WORKLOADS: &[&str] = &[
    "CronJob",
    "Deployment",
    "Job",
    "JobSet",
    "LeaderWorkerSet",
    "TrainJob",
];

/// The nodes that a pool loses.
enum NodeLoss {
    /// Nodes in any zone, because the pool shrinks.
    Nodes { old: NodeRange, new: NodeRange },
    /// All nodes in some zones.
    Zones(Vec<String>),
}

/// A pool that loses nodes.
struct ShrinkingPool<'a> {
    name: &'a str,
    loss: NodeLoss,
}

/// The step that deletes removed workloads before nodes are removed.
pub(super) fn delete_removed_workloads(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| rollout.is_removed_with_nodes(change))
        .collect();
    Phase::DeleteWorkloads.plan((!removed.is_empty()).then(|| Step {
        instruction: format!(
            "Before nodes are removed, delete the workloads that were removed from the tree: {}. Their pods terminate",
            rollout.setting.retention_reason()
        ),
        commands: rollout.delete_commands(&removed),
        changes: change_ids(&removed),
    }))
}

/// The step that deletes workloads that cannot be changed in place before nodes are removed.
pub(super) fn delete_immutable_workloads(rollout: &Rollout<'_>) -> Vec<Planned> {
    let workloads = rollout.immutable_workloads_on_removed_nodes();
    Phase::DeleteWorkloads.plan((!workloads.is_empty()).then(|| Step {
        instruction: "Before nodes are removed, delete the workloads that cannot be changed in place: their pods terminate, \
               and the deployment recreates them"
            .to_owned(),
        commands: rollout.delete_commands(&workloads),
        changes: change_ids(&workloads),
    }))
}

/// The commands of [`delete_immutable_workloads`].
pub(super) fn immutable_workload_commands(rollout: &Rollout<'_>) -> Vec<String> {
    rollout.delete_commands(&rollout.immutable_workloads_on_removed_nodes())
}

/// The steps that drain nodes to remove, and those that uncordon the remaining ones.
pub(super) fn drain_shrinking_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let drained_anyway = rollout.temporarily_drained_pools();
    (rollout.shrinking_pools().iter())
        .filter(|pool| !drained_anyway.contains(pool.name))
        .flat_map(|pool| rollout.drain_shrinking_pool(pool))
        .collect()
}

impl Rollout<'_> {
    /// Pools created by scripts that lose nodes.
    fn shrinking_pools(&self) -> Vec<ShrinkingPool<'_>> {
        if self.setting.before.has_user_hosts {
            return Vec::new();
        }
        (self.setting.after.by_key.iter())
            .filter_map(|(key, new)| {
                let EntityKey::Pool(name) = key else {
                    return None;
                };
                let old = self.setting.before.by_key.get(key)?;
                let loss = self.node_loss(name, old, new)?;
                Some(ShrinkingPool { name, loss })
            })
            .collect()
    }

    /// The nodes that a pool loses, if any.
    fn node_loss(&self, name: &str, old: &Entity, new: &Entity) -> Option<NodeLoss> {
        if old.members.is_empty() || new.members.is_empty() {
            return None;
        }
        let sizes = self.both_pools(name).map(|pool| pool?.nodes.get().copied());
        if let [Some(old), Some(new)] = sizes
            && new.max < old.max
        {
            let is_autoscaled = [old, new].map(|nodes| nodes.min < nodes.max);
            let keeps_nodes = self.setting.keeps_above_maximum(is_autoscaled).is_some();
            return (!keeps_nodes).then_some(NodeLoss::Nodes { old, new });
        }
        let zones_of = |entity: &Entity, path: &String| -> Option<Vec<Json>> {
            entity.fields.get(path)?.value.as_array().cloned()
        };
        let zones: Vec<String> = (new.field_kinds.iter())
            .filter(|(_, kind)| matches!(kind.change, plan::Change::Resize))
            .filter_map(|(path, _)| Some((zones_of(old, path)?, zones_of(new, path)?)))
            .flat_map(|(old_zones, new_zones)| {
                (old_zones.into_iter()).filter(move |zone| !new_zones.contains(zone))
            })
            .filter_map(|zone| zone.as_str().map(str::to_owned))
            .collect();
        (!zones.is_empty()).then_some(NodeLoss::Zones(zones))
    }

    /// The steps that drain the nodes to remove of a pool, and uncordon the remaining ones.
    fn drain_shrinking_pool(&self, pool: &ShrinkingPool<'_>) -> Vec<Planned> {
        let kubectl = self.kubectl();
        let name = pool.name;
        let all_nodes = format!("{POOL_LABEL}={name}");
        let selector = shell::quote(&match &pool.loss {
            NodeLoss::Nodes { .. } => all_nodes.clone(),
            NodeLoss::Zones(zones) => format!(
                "{all_nodes},topology.kubernetes.io/zone in ({})",
                zones.join(",")
            ),
        });
        let drain = Step {
            instruction: pool.describe(),
            commands: std::iter::once(format!("{kubectl} get nodes -l {selector}"))
                .chain(self.drain_commands(&selector))
                .collect(),
            changes: self.pool_change_ids(name),
        };
        let uncordon = matches!(pool.loss, NodeLoss::Nodes { .. }).then(|| Step {
            instruction: format!("Uncordon the remaining nodes of pool {name}"),
            commands: vec![format!(
                "{kubectl} uncordon -l {}",
                shell::quote(&all_nodes)
            )],
            changes: self.pool_change_ids(name),
        });
        (Phase::DrainNodes.plan([drain]).into_iter())
            .chain(Phase::Uncordon.plan(uncordon))
            .collect()
    }

    /// Whether a pool loses nodes.
    fn shrinks_any_pool(&self) -> bool {
        !self.shrinking_pools().is_empty()
    }

    /// Whether a workload is removed together with nodes, and the user must delete it.
    pub(super) fn is_removed_with_nodes(&self, change: &Change) -> bool {
        change.status == Status::Removed
            && WORKLOADS.contains(&change.kind.as_str())
            && !self.setting.prunes_removed
            && self.shrinks_any_pool()
    }

    /// The workloads that cannot be changed in place, if nodes are removed.
    fn immutable_workloads_on_removed_nodes(&self) -> Vec<&Change> {
        let removes_pools = self.removes_any_pool_first() && !self.is_delivered_by_commit();
        if !removes_pools && !self.shrinks_any_pool() {
            return Vec::new();
        }
        (self.changes.iter())
            .filter(|change| has_immutable_field(change))
            .filter(|change| WORKLOADS.contains(&change.kind.as_str()))
            .collect()
    }

    /// The commands that delete the objects of these changes.
    fn delete_commands(&self, changes: &[&Change]) -> Vec<String> {
        (changes.iter())
            .flat_map(|change| change.names.iter().map(|name| (&change.kind, name)))
            .map(|(kind, name)| self.delete_command(kind, name))
            .collect()
    }
}

impl ShrinkingPool<'_> {
    /// The instruction to drain the nodes to remove.
    fn describe(&self) -> String {
        let name = self.name;
        match &self.loss {
            NodeLoss::Nodes { old, new } if old.min > new.max => format!(
                "Pool {name} shrinks from {} to {}. The cloud chooses which nodes to remove, and their pods terminate: \
                 when jobs may be interrupted, drain the whole pool, because the choice is unpredictable. {}If all \
                 pods there may restart at any time, skip this step",
                describe_nodes(*old),
                describe_nodes(*new),
                if old.is_fixed() && new.is_fixed() {
                    format!(
                        "To drain only the removed nodes, drain {} of your choice and, if the cloud supports it, \
                         delete exactly those machines and reduce the size of the pool with them. ",
                        old.max - new.max
                    )
                } else {
                    String::new()
                }
            ),
            NodeLoss::Nodes { new, .. } => format!(
                "Pool {name} now has a maximum of {}. If it has more, the cloud chooses which nodes to remove, and \
                 their pods terminate: when jobs may be interrupted, drain the pool. Otherwise skip this step",
                describe_nodes(NodeRange {
                    min: new.max,
                    ..*new
                })
            ),
            NodeLoss::Zones(zones) => format!(
                "The nodes of pool {name} in {} are removed, and their pods terminate: when jobs may be interrupted, \
                 drain them",
                zones.join(", ")
            ),
        }
    }
}

/// A step without the commands that an earlier one contains; `None` if none remains.
pub(super) fn subtract_commands(mut step: Step, earlier: &[String]) -> Option<Step> {
    let had_commands = !step.commands.is_empty();
    step.commands.retain(|command| !earlier.contains(command));
    (!had_commands || !step.commands.is_empty()).then_some(step)
}

/// The number of nodes with its unit: `8 nodes`, `0-4 nodes`.
fn describe_nodes(nodes: NodeRange) -> String {
    let number = if nodes.is_fixed() {
        nodes.max.to_string()
    } else {
        format!("{}-{}", nodes.min, nodes.max)
    };
    format!("{number} node{}", if nodes.max == 1 { "" } else { "s" })
}
