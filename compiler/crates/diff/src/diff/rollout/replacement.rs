//! Replacement of pools, including pools whose replacement cannot exist at the same time.

use gpuc_compile::compile::Compilation;
use gpuc_model::{KubernetesVersion, Pool, plan};
use gpuc_schema::config::Capacity;

use super::super::classify::VersionDirection;
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::report::Step;
use super::changed_pools::{change_ids, pool_changes, remaining_pool_names, removed_pool_names};
use super::node_provisioners::ProvisionerChange;
use super::phases::{Phase, Planned};
use super::queues::join_with_and;
use super::states::Rollout;

/// The strategy to replace a pool that its cloud cannot change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplacementStrategy {
    /// Another pool is created next to it, and it stays in the input meanwhile.
    SideBySide,
    /// It is renamed in the input, so that the scripts ignore the old pool.
    Rename,
    /// The old pool is removed first.
    RemoveFirst,
}

/// A pool that is removed before its replacement is created.
struct RemovedFirst {
    name: String,
    reason: &'static str,
}

const RESERVED: &str = "its reservation has no machines for a second pool";
const UNKNOWN: &str = "`count` of its reservation is not set, so the reservation may have no machines for a second \
    pool";
const VERSION: &str = "its nodes cannot keep their version while the cluster is upgraded";

/// The edits of the input for pools that the cloud cannot change: another pool is created next to each.
pub(super) fn add_replacement_pools(rollout: &Rollout<'_>) -> Vec<Planned> {
    let replaced = rollout.changes_with_impact(&[Impact::Replaced]);
    let steps = remaining_pool_names(&replaced)
        .into_iter()
        .filter(|name| {
            rollout.provisioner_change(name).is_none()
                && rollout.replacement_strategy(name) != ReplacementStrategy::RemoveFirst
        })
        .map(|name| Step {
            instruction: rollout.edit_instructions(&name),
            commands: Vec::new(),
            changes: change_ids(&pool_changes(replaced.iter().copied(), &name)),
        });
    Phase::EditInput.plan(steps)
}

/// The step for changes, other than of pools, that the cluster does not support in place.
pub(super) fn revert_unsupported_changes(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut unsupported = rollout.changes_with_impact(&[Impact::Replaced]);
    unsupported.retain(|change| {
        change.kind != "pool" && !rollout.is_downgrade(change) && !rollout.replaces_cluster(change)
    });
    Phase::EditInput.plan((!unsupported.is_empty()).then(|| Step {
        instruction: "Every script stops at a change that the cluster does not support in place: revert it, or create a new \
               cluster with another name and move to it"
            .to_owned(),
        commands: Vec::new(),
        changes: change_ids(&unsupported),
    }))
}

/// The steps that remove pools before their replacement is created: before intermediate versions, or before new
/// resources.
pub(super) fn remove_pools_first(rollout: &Rollout<'_>) -> Vec<Planned> {
    let created_after_push = rollout.pools_created_after_push();
    (rollout.pools_removed_first().iter())
        .filter(|pool| !created_after_push.contains(&pool.name))
        .flat_map(|pool| {
            if rollout.is_removed_before_upgrade(pool) {
                let until = ", and leave it out of gpu-cluster.yaml until the last version below is set there";
                Phase::RemovePoolsBeforeUpgrade.plan(rollout.remove_pool_first(pool, until))
            } else {
                Phase::RemovePoolsFirst.plan(rollout.remove_pool_first(pool, ""))
            }
        })
        .collect()
}

/// The steps for new pools whose reservation has no free machines because of pools that stay.
pub(super) fn reduce_full_reservations(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut steps = Vec::new();
    for pool in Rollout::pools_in(rollout.after) {
        let name = &pool.name.value;
        let (Some((id, Some(count))), Some(nodes), [None, _]) = (
            reservation(pool),
            pool.nodes.get(),
            rollout.both_pools(name),
        ) else {
            continue;
        };
        let kept = Rollout::pools_in(rollout.after).iter().filter(|other| {
            let shares_reservation = reservation(other).is_some_and(|(other_id, _)| other_id == id);
            shares_reservation && rollout.both_pools(&other.name)[0].is_some()
        });
        let max_used: u64 = kept
            .clone()
            .filter_map(|other| other.nodes.get())
            .map(|nodes| u64::from(nodes.max))
            .sum();
        let names: Vec<String> = kept.map(|other| other.name.value.clone()).collect();
        if nodes.min == 0 || max_used + u64::from(nodes.min) <= u64::from(count) {
            continue;
        }
        steps.push(Step {
            instruction: format!(
                "Reservation {id} has {}, of which {} may use {max_used}. The new pool {name} needs {}, \
                 and nodes without a free machine are never created: reduce `nodes` of {} and run this command \
                 again. If {name} replaces one of them, remove that one from gpu-cluster.yaml instead, and it is \
                 removed first",
                gpuc_syntax::diag::phrases::pluralize(count, "machine"),
                join_with_and(&names),
                nodes.min,
                if let [one] = names.as_slice() { one } else { "one of them" },
            ),
            commands: Vec::new(),
            changes: rollout.pool_change_ids(name),
        });
    }
    Phase::EditInput.plan(steps)
}

impl Rollout<'_> {
    /// The pools of a state.
    fn pools_in(side: Option<&Compilation>) -> &[Pool] {
        let cluster = side.and_then(|side| side.cluster.as_ref());
        cluster.map_or(&[], |cluster| &cluster.pools)
    }

    /// A pool before and after.
    pub(super) fn both_pools(&self, name: &str) -> [Option<&Pool>; 2] {
        [self.before, self.after].map(|side| {
            let mut pools = Self::pools_in(side).iter();
            pools.find(|pool| pool.name.value == name)
        })
    }

    /// Whether a pool uses a reservation that is too small for its old nodes and its replacement at the same time.
    fn exceeds_reservation(&self, name: &str) -> bool {
        let [old, new] = self.both_pools(name);
        let Some((id, _)) = old.and_then(reservation) else {
            return false;
        };
        let pools_with_reservation = |side: Option<&Compilation>| -> Vec<Pool> {
            (Self::pools_in(side).iter())
                .filter(|pool| reservation(pool).is_some_and(|(other, _)| other == id))
                .cloned()
                .collect()
        };
        let (old_pools, new_pools) = (
            pools_with_reservation(self.before),
            pools_with_reservation(self.after),
        );
        // An unchanged pool already has its machines.
        let added = new_pools.iter().filter(|pool| match new {
            Some(_) => pool.name.value == name,
            None => old_pools
                .iter()
                .all(|old| old.name.value != pool.name.value),
        });
        let max_used: u64 = (old_pools.iter())
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.max))
            .sum();
        // Scripts that take over must have a node before the old provisioner is removed, even with a minimum of 0.
        let scripts_take_over = matches!(
            self.provisioner_change(name),
            Some(ProvisionerChange::From(_))
        ) && !self.setting.prunes_removed;
        let min_nodes = u64::from(scripts_take_over);
        let required: u64 = added
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.min).max(min_nodes))
            .sum();
        let reservations = old_pools.iter().chain(&new_pools).filter_map(reservation);
        let count = reservations.filter_map(|(_, count)| count).max();
        required > 0 && count.is_none_or(|count| max_used + required > u64::from(count))
    }

    /// Whether the file sets the number of machines of a pool's reservation.
    fn is_reservation_counted(&self, name: &str) -> bool {
        let [old, _] = self.both_pools(name);
        let id = old.and_then(reservation).map(|(id, _)| id);
        [self.before, self.after]
            .into_iter()
            .flat_map(Self::pools_in)
            .filter_map(reservation)
            .any(|(other, count)| Some(other) == id && count.is_some())
    }

    /// Whether a pool uses reserved machines.
    pub(super) fn uses_reservation(&self, name: &str) -> bool {
        self.both_pools(name)[0].is_some_and(|pool| pool.is_reserved())
    }

    /// The reservation of a pool and its size, if its pools may use all its machines at the same time.
    pub(super) fn full_reservation(&self, name: &str) -> Option<(&str, Option<u32>)> {
        let (id, _) = self.both_pools(name)[1].and_then(reservation)?;
        let sharing = (Self::pools_in(self.after).iter())
            .filter(|pool| reservation(pool).is_some_and(|(other, _)| other == id));
        let count = sharing
            .clone()
            .filter_map(|pool| reservation(pool)?.1)
            .max();
        let max_nodes: u64 = sharing
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.max))
            .sum();
        count
            .is_none_or(|count| max_nodes >= u64::from(count))
            .then_some((id, count))
    }

    /// Whether the cluster is upgraded and the nodes of a pool cannot be upgraded in place.
    fn is_pinned_to_version(&self, name: &str) -> bool {
        let entity = self
            .setting
            .before
            .by_key
            .get(&EntityKey::Pool(name.to_owned()));
        let has_fixed_version = entity.is_some_and(|entity| {
            entity.field_kinds.iter().any(|(path, kind)| {
                let value = entity.fields.get(path).and_then(|leaf| leaf.value.as_str());
                matches!(kind.change, plan::Change::Replacement { .. })
                    && value.is_some_and(|text| KubernetesVersion::parse(text).is_some())
            })
        });
        has_fixed_version && !self.upgraded_control_planes().is_empty()
    }

    /// Whether a pool is removed before the upgrade to an intermediate version.
    fn is_removed_before_upgrade(&self, pool: &RemovedFirst) -> bool {
        pool.reason == VERSION && self.skips_minor_versions()
    }

    /// Whether any pool is removed before the upgrade to an intermediate version.
    pub(super) fn removes_pools_before_upgrade(&self) -> bool {
        let created_after_push = self.pools_created_after_push();
        (self.pools_removed_first().iter()).any(|pool| {
            !created_after_push.contains(&pool.name) && self.is_removed_before_upgrade(pool)
        })
    }

    /// Whether the upgrade takes several minor versions, each with its own run of the scripts.
    fn skips_minor_versions(&self) -> bool {
        (self.version_changes())
            .any(|change| matches!(change.direction, VersionDirection::SkippingUpgrade(_)))
    }

    /// Whether a pool was created together with its cluster.
    fn is_created_with_cluster(&self, name: &str) -> bool {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let script = format!("pool-{name}");
        (plan.iter().flat_map(|plan| &plan.provisioning.resources))
            .any(|resource| resource.script == script && resource.created_with.is_some())
    }

    /// The strategy to replace a pool that is on both sides and cannot be changed.
    pub(super) fn replacement_strategy(&self, name: &str) -> ReplacementStrategy {
        let is_pinned = self.is_pinned_to_version(name);
        if self.exceeds_reservation(name)
            || (is_pinned && (self.setting.prunes_removed || self.skips_minor_versions()))
        {
            ReplacementStrategy::RemoveFirst
        } else if is_pinned || self.is_created_with_cluster(name) {
            ReplacementStrategy::Rename
        } else {
            ReplacementStrategy::SideBySide
        }
    }

    /// Instructions to edit the input for a pool that cannot be changed.
    pub(super) fn edit_instructions(&self, name: &str) -> String {
        match self.replacement_strategy(name) {
            ReplacementStrategy::Rename if self.is_created_with_cluster(name) => format!(
                "Pool {name} cannot be changed in place, and it was created together with the cluster: rename it in \
                 gpu-cluster.yaml, wherever its name occurs, and keep its position in the list, so that the new pool \
                 takes over from it"
            ),
            ReplacementStrategy::Rename => format!(
                "Pool {name} cannot be changed in place, and cannot stay in gpu-cluster.yaml unchanged, because \
                 {VERSION}: rename it there, wherever its name occurs"
            ),
            ReplacementStrategy::RemoveFirst | ReplacementStrategy::SideBySide => format!(
                "Pool {name} cannot be changed in place. In gpu-cluster.yaml restore it, and add a second pool with \
                 another name and the new settings{}",
                self.reference_instructions(name)
            ),
        }
    }

    /// The pools that are removed before their replacement is created.
    fn pools_removed_first(&self) -> Vec<RemovedFirst> {
        let leaving = self.changes_with_impact(&[Impact::Deleted, Impact::Replaced]);
        let removed = removed_pool_names(&leaving)
            .into_iter()
            .filter(|name| self.exceeds_reservation(name));
        let replaced = remaining_pool_names(&leaving).into_iter().filter(|name| {
            match self.provisioner_change(name) {
                Some(ProvisionerChange::From(_)) => self.exceeds_reservation(name),
                Some(ProvisionerChange::To(_)) => false,
                None => self.replacement_strategy(name) == ReplacementStrategy::RemoveFirst,
            }
        });
        removed
            .chain(replaced)
            .map(|name| {
                let blocks_upgrade =
                    self.skips_minor_versions() && self.is_pinned_to_version(&name);
                let reason = if !self.exceeds_reservation(&name) || blocks_upgrade {
                    VERSION
                } else if self.is_reservation_counted(&name) {
                    RESERVED
                } else {
                    UNKNOWN
                };
                RemovedFirst { name, reason }
            })
            .collect()
    }

    /// The steps that remove a pool before its replacement is created; `until`: an instruction about the input.
    fn remove_pool_first(&self, pool: &RemovedFirst, until: &str) -> Vec<Step> {
        let RemovedFirst { name, reason } = pool;
        let changes = self.pool_change_ids(name);
        if let Some(provisioner) = self.node_provisioners(name)[0] {
            let remove = Step {
                instruction: format!(
                    "Remove pool {name} before its replacement is created, because {reason}. When its nodes are no longer \
                     needed, delete its {0} objects: {0} drains and deletes the nodes. Continue when they are gone",
                    provisioner.name
                ),
                commands: self.delete_provisioner_commands(name, provisioner),
                changes,
            };
            return if self.setting.prunes_removed {
                Vec::new()
            } else {
                vec![remove]
            };
        }
        vec![
            Step {
                instruction: format!(
                    "Remove pool {name} before its replacement is created, because {reason}. When its nodes are no longer \
                     needed, drain them: their pods stay pending until the new nodes are ready"
                ),
                commands: self.drain_pool_commands(name),
                changes: changes.clone(),
            },
            Step {
                instruction: format!("Delete the old pool {name}{until}"),
                commands: self
                    .removal_commands(|resource| resource.script == format!("pool-{name}")),
                changes,
            },
        ]
    }

    /// Whether a pool is removed before its replacement is created.
    pub(super) fn is_removed_first(&self, name: &str) -> bool {
        (self.pools_removed_first().iter()).any(|pool| pool.name == name)
    }

    /// Whether any pool is removed before its replacement is created.
    pub(super) fn removes_any_pool_first(&self) -> bool {
        !self.pools_removed_first().is_empty()
    }

    /// Whether the input cannot contain the old pool and its replacement at the same time.
    pub(super) fn cannot_coexist_with_replacement(&self, name: &str) -> bool {
        self.is_removed_first(name)
            || self.loses_moved_hosts(name)
            || self.is_pinned_to_version(name)
    }

    /// Pools whose nodes are deleted by a push, and whose new nodes have no machines before.
    pub(super) fn pools_created_after_push(&self) -> Vec<String> {
        (self.pools_removed_first().into_iter())
            .map(|pool| pool.name)
            .filter(|name| self.setting.prunes_removed && self.node_provisioners(name)[0].is_some())
            .collect()
    }
}

/// The reservation of a pool, and its number of machines if the file sets it.
fn reservation(pool: &Pool) -> Option<(&str, Option<u32>)> {
    match &pool.settings.capacity.value {
        Capacity::Reservation(reservation) => Some((
            &reservation.id,
            reservation.count.as_ref().map(|count| count.value),
        )),
        Capacity::CapacityBlock(block) => Some((&block.id, Some(block.count.value))),
        _ => None,
    }
}
