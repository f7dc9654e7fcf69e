//! Pools that must be drained temporarily, and uncordoned afterwards.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::ADVERTISED_BY_DRA;
use gpuc_syntax::shell;

use super::super::entities::{EntityKey, PLUGIN, SHARING};
use super::super::impact::Impact;
use super::super::report::{Change, FieldChange, Status, Step};
use super::changed_pools::{change_ids, pool_changes, sorted_unique};
use super::phases::{Phase, Planned};
use super::states::Rollout;

const NIC_POLICY: &str = "NicNodePolicy";

/// The reason to drain the GPU nodes of a pool, in increasing order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DrainReason {
    /// GPUs are repartitioned or a driver is replaced, node by node.
    NodeByNode,
    /// Nodes cannot have the old taint next to the new one.
    Taint,
    /// The MPS daemon stops or starts.
    Mps,
    /// Another component allocates GPUs that pods still hold.
    Reallocation,
    /// The NIC driver is replaced.
    Network,
}

/// A temporary drain of a pool.
struct Drain {
    reason: DrainReason,
    /// The numbers of the changes that require it, possibly repeated.
    changes: Vec<usize>,
}

impl DrainReason {
    /// The reason as the end of an instruction.
    fn as_clause(self) -> &'static str {
        match self {
            Self::NodeByNode => "",
            Self::Mps => {
                ": programs that compute through the MPS daemon stop with it, and programs without MPS cannot compute \
                 once it starts"
            }
            Self::Reallocation => {
                ": GPUs that pods hold under the old names are allocated again under the new ones"
            }
            Self::Taint => {
                ": a taint has another value, and a node cannot have both, so between the script and the deployment no \
                 device plugin can start on these nodes"
            }
            Self::Network => {
                ": the NIC driver is replaced, and running jobs lose their connections and fail"
            }
        }
    }
}

/// The steps that drain pools temporarily, and those that uncordon them.
pub(super) fn drain_temporarily(rollout: &Rollout<'_>) -> Vec<Planned> {
    let note = rollout.before_push_note();
    let mut steps = Vec::new();
    for (pool, drain) in rollout.temporary_drains() {
        // Pools that are removed first are drained by their own step, and their nodes do not return.
        if rollout.is_removed_first(&pool) {
            continue;
        }
        let nodes = shell::quote(&rollout.node_selector(&pool));
        let changes = sorted_unique(drain.changes);
        let advice = if drain.reason == DrainReason::NodeByNode {
            "If the jobs cannot all stop at once, drain one node after the other"
        } else {
            "Drain all of its nodes at once: the next steps affect every node"
        };
        steps.extend(Phase::DrainNodes.plan([Step {
            instruction: format!(
                "Drain pool {pool}{note}{}. {advice}",
                drain.reason.as_clause()
            ),
            commands: rollout.drain_commands(&nodes),
            changes: changes.clone(),
        }]));
        steps.extend(Phase::Uncordon.plan([Step {
            instruction: format!(
                "Uncordon pool {pool} when its nodes advertise the expected resources"
            ),
            commands: vec![format!("{} uncordon -l {nodes}", rollout.kubectl())],
            changes,
        }]));
    }
    steps
}

/// The step that deletes a NIC driver that was removed from the tree, while its nodes are drained.
pub(super) fn delete_nic_driver(rollout: &Rollout<'_>) -> Vec<Planned> {
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| change.kind == NIC_POLICY)
        .collect();
    let commands: Vec<String> = (changes.iter().flat_map(|change| &change.names))
        .filter(|name| rollout.keeps_nic_driver(name))
        .map(|name| rollout.delete_command(NIC_POLICY, name))
        .collect();
    Phase::ReplaceDrivers.plan(
        (!commands.is_empty()).then(|| Step {
            instruction:
                "While nothing uses it, delete the NIC driver that was removed from the tree"
                    .to_owned(),
            commands,
            changes: change_ids(&changes),
        }),
    )
}

impl Rollout<'_> {
    /// The names of the pools that are drained temporarily.
    pub(super) fn temporarily_drained_pools(&self) -> BTreeSet<String> {
        self.temporary_drains().into_keys().collect()
    }

    /// The pools that are drained temporarily.
    fn temporary_drains(&self) -> BTreeMap<String, Drain> {
        let mut drains: BTreeMap<String, Drain> = BTreeMap::new();
        let mut add = |pool: String, reason: DrainReason, change: &Change| {
            let drain = drains.entry(pool).or_insert_with(|| Drain {
                reason,
                changes: Vec::new(),
            });
            drain.reason = drain.reason.max(reason);
            drain.changes.push(change.id);
        };
        for change in self.changes {
            if let Some(reason) = self.drain_reason(change) {
                for pool in self.running_pools(change, reason) {
                    add(pool, reason, change);
                }
            }
            for pool in self.pools_with_restarted_driver(change) {
                add(pool, DrainReason::NodeByNode, change);
            }
        }
        for pool in self.pools_drained_for_taints() {
            for change in pool_changes(self.changes, &pool) {
                add(pool.clone(), DrainReason::Taint, change);
            }
        }
        // The step that changes the driver of hosts drains one node after the other itself.
        drains.retain(|pool, drain| {
            drain.reason != DrainReason::NodeByNode
                || !self.changes_driver_on_hosts(pool)
                || self.is_repartitioned(pool)
        });
        drains
    }

    /// Whether the GPUs of a pool are repartitioned.
    fn is_repartitioned(&self, pool: &str) -> bool {
        pool_changes(self.changes, pool)
            .iter()
            .any(|change| change.impact == Impact::MigReconfigured)
    }

    /// The reason to drain the pools of a change, if any.
    fn drain_reason(&self, change: &Change) -> Option<DrainReason> {
        let by_field = |field: &FieldChange| match field.path.as_str() {
            PLUGIN if has_either_value(field, |text| text == ADVERTISED_BY_DRA) => {
                Some(DrainReason::Reallocation)
            }
            SHARING if has_either_value(field, |text| text.starts_with("MPS")) => {
                Some(DrainReason::Mps)
            }
            SHARING if has_either_value(field, |text| text == "exclusive") => {
                Some(DrainReason::Reallocation)
            }
            _ => None,
        };
        let is_kept = change.status == Status::Kept;
        match (change.kind.as_str(), change.impact) {
            ("pool", Impact::MigReconfigured | Impact::DriverRestarted) if is_kept => {
                Some(DrainReason::NodeByNode)
            }
            ("pool", _) if is_kept => change.fields.iter().find_map(by_field),
            ("DaemonSet" | "Helm release", Impact::WorkloadRestarted) if is_kept => {
                Some(DrainReason::Mps)
            }
            (NIC_POLICY, Impact::DriverRestarted) => Some(DrainReason::Network),
            (NIC_POLICY, _) if change.names.iter().any(|name| self.keeps_nic_driver(name)) => {
                Some(DrainReason::Network)
            }
            _ => None,
        }
    }

    /// The pools of a change with running workloads that this reason affects. Names may repeat.
    fn running_pools(&self, change: &Change, reason: DrainReason) -> Vec<String> {
        let needs_mps = reason == DrainReason::Mps && change.kind != "pool";
        let mut pools: Vec<String> = (change.names.iter())
            .flat_map(|name| self.pools_of_entity(&change.kind, name))
            .collect();
        pools.retain(|pool| {
            self.is_on_both_sides(pool)
                && !self.are_nodes_recreated(pool, reason)
                && (!needs_mps || self.shares_by_mps(pool))
        });
        pools
    }

    /// The pools that an entity belongs to.
    fn pools_of_entity(&self, kind: &str, name: &str) -> Vec<String> {
        if kind == "pool" {
            return vec![name.to_owned()];
        }
        let Some(entity) = self.find_entity(kind, name) else {
            return Vec::new();
        };
        // Existing nodes have their own labels, so the DaemonSet's name identifies the pool.
        let plugin_pool = name
            .rsplit_once("/gpuc-runtime-")
            .map(|(_, pool)| pool.to_owned());
        entity.pools.iter().cloned().chain(plugin_pool).collect()
    }

    /// Whether a pool is neither new nor removed, so that workloads may run on it.
    fn is_on_both_sides(&self, pool: &str) -> bool {
        [self.setting.before, self.setting.after]
            .iter()
            .all(|side| side.summary.pools.iter().any(|other| other.name == pool))
    }

    /// Whether a pool's nodes are recreated anyway, so that the new ones are empty.
    fn are_nodes_recreated(&self, pool: &str, reason: DrainReason) -> bool {
        (self.changes.iter())
            .filter(|change| change.kind == "pool" && change.names.iter().any(|name| name == pool))
            .any(|change| match change.impact {
                Impact::Replaced => true,
                Impact::NodesRecreated => reason != DrainReason::NodeByNode,
                _ => false,
            })
    }

    /// Whether a policy removed from the tree still installs a driver, because nothing deletes it.
    pub(super) fn keeps_nic_driver(&self, name: &str) -> bool {
        let is_policy = |key: &EntityKey| key.kind() == NIC_POLICY && key.name() == *name;
        let [old, new] = [self.setting.before, self.setting.after].map(|side| {
            let mut entities = side.by_key.iter();
            entities
                .find(|(key, _)| is_policy(key))
                .map(|(_, entity)| entity)
        });
        let (Some(old), None) = (old, new) else {
            return false;
        };
        let installs_driver = (old.fields.keys()).any(|path| path.starts_with("spec.ofedDriver"));
        let has_nodes =
            (self.setting.after.summary.pools.iter()).any(|pool| old.pools.contains(&pool.name));
        !self.setting.prunes_removed && installs_driver && has_nodes
    }

    /// Whether a pool shares GPUs with MPS, before or after.
    fn shares_by_mps(&self, pool: &str) -> bool {
        [self.setting.before, self.setting.after]
            .iter()
            .flat_map(|side| &side.summary.pools)
            .any(|summary| summary.name == pool && summary.sharing.starts_with("MPS"))
    }

    /// The pools whose driver restarts by a change of another resource than the pool.
    fn pools_with_restarted_driver(&self, change: &Change) -> BTreeSet<String> {
        let is_driver = change.impact == Impact::DriverRestarted && change.kind != NIC_POLICY;
        if !is_driver || change.kind == "pool" || change.status == Status::Added {
            return BTreeSet::new();
        }
        let sides = [self.setting.before, self.setting.after];
        let pools_with_gpus = || {
            (self.setting.after.summary.pools.iter())
                .filter(|pool| !pool.gpus.is_empty())
                .map(|pool| pool.name.clone())
                .collect()
        };
        (sides.iter().flat_map(|side| &side.by_key))
            .filter(|(key, _)| key.kind() == change.kind && change.names.contains(&key.name()))
            .flat_map(|(_, entity)| {
                if entity.pools.is_empty() {
                    pools_with_gpus()
                } else {
                    entity.pools.clone()
                }
            })
            .filter(|name| {
                let key = EntityKey::Pool(name.clone());
                sides.iter().all(|side| side.by_key.contains_key(&key))
            })
            .collect()
    }
}

/// Whether the value before or after is a text that matches.
fn has_either_value(field: &FieldChange, matches: impl Fn(&str) -> bool) -> bool {
    ([&field.from, &field.to].into_iter().flatten())
        .filter_map(|value| value.as_str())
        .any(matches)
}
