//! Replacement of pools, including pools whose replacement cannot exist at the same time.

use gpuc_compile::compile::Compilation;
use gpuc_model::{KubernetesVersion, Pool, plan};
use gpuc_schema::config::Capacity;

use super::super::classify::Move;
use super::super::entities::Key;
use super::super::impact::Impact;
use super::super::report::{Change, Step};
use super::cleanup::{ProvisionerChange, about_pool};
use super::queues::and;
use super::{Rollout, ids, pools};

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

/// A pool that is removed first, with the reason.
type Leaving = (String, &'static str);

const RESERVED: &str = "its reservation has no machines for a second pool";
const UNKNOWN: &str = "`count` of its reservation is not set, so the reservation may have no machines for a second \
    pool";
const VERSION: &str = "its nodes cannot keep their version while the cluster is upgraded";

impl Rollout<'_> {
    fn pools_of(side: Option<&Compilation>) -> &[Pool] {
        let cluster = side.and_then(|side| side.cluster.as_ref());
        cluster.map_or(&[], |cluster| &cluster.pools)
    }

    /// A pool before and after.
    pub(super) fn both(&self, name: &str) -> [Option<&Pool>; 2] {
        [self.before, self.after].map(|side| {
            let mut pools = Self::pools_of(side).iter();
            pools.find(|pool| pool.name.value == name)
        })
    }

    /// Whether a pool uses a reservation that is too small for its old nodes and its replacement at the same time.
    fn has_no_room(&self, name: &str) -> bool {
        let [old, new] = self.both(name);
        let Some((id, _)) = old.and_then(reserved) else {
            return false;
        };
        let pools_with_reservation = |side: Option<&Compilation>| -> Vec<Pool> {
            (Self::pools_of(side).iter())
                .filter(|pool| reserved(pool).is_some_and(|(other, _)| other == id))
                .cloned()
                .collect()
        };
        let old_pools = pools_with_reservation(self.before);
        let new_pools = pools_with_reservation(self.after);
        // An unchanged pool already has its machines.
        let added = new_pools.iter().filter(|pool| match new {
            Some(_) => pool.name.value == name,
            None => old_pools
                .iter()
                .all(|old| old.name.value != pool.name.value),
        });
        let held: u64 = (old_pools.iter())
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.max))
            .sum();
        // Scripts that take over must have a node before the old provisioner is removed, even with a minimum of 0.
        let takes_over = matches!(
            self.provisioner_change(name),
            Some(ProvisionerChange::From(_))
        ) && !self.setting.prunes;
        let min_nodes = u64::from(takes_over);
        let required: u64 = added
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.min).max(min_nodes))
            .sum();
        let reservations = old_pools.iter().chain(&new_pools).filter_map(reserved);
        let count = reservations.filter_map(|(_, count)| count).max();
        required > 0 && count.is_none_or(|count| held + required > u64::from(count))
    }

    /// Whether the file sets the number of machines of a pool's reservation.
    fn is_counted(&self, name: &str) -> bool {
        let [old, _] = self.both(name);
        let id = old.and_then(reserved).map(|(id, _)| id);
        let sides = [self.before, self.after].into_iter();
        let mut all = sides.flat_map(Self::pools_of).filter_map(reserved);
        all.any(|(of, count)| Some(of) == id && count.is_some())
    }

    /// Whether a pool uses reserved machines.
    pub(super) fn is_reserved(&self, name: &str) -> bool {
        self.both(name)[0].is_some_and(|pool| pool.is_reserved())
    }

    /// The reservation of a pool and its size, if its pools may use all its machines at the same time.
    pub(super) fn filled(&self, name: &str) -> Option<(&str, Option<u32>)> {
        let (id, _) = self.both(name)[1].and_then(reserved)?;
        let pools = Self::pools_of(self.after).iter();
        let sharing = pools.filter(|pool| reserved(pool).is_some_and(|(other, _)| other == id));
        let count = sharing.clone().filter_map(|pool| reserved(pool)?.1).max();
        let max_nodes: u64 = sharing
            .filter_map(|pool| pool.nodes.get())
            .map(|nodes| u64::from(nodes.max))
            .sum();
        count
            .is_none_or(|count| max_nodes >= u64::from(count))
            .then_some((id, count))
    }

    /// Whether the cluster is upgraded and the nodes of a pool cannot be upgraded in place.
    fn is_of_version(&self, name: &str) -> bool {
        let part = self.setting.before.all.get(&Key::Pool(name.to_owned()));
        let is_fixed = part.is_some_and(|part| {
            part.fields.iter().any(|(path, kind)| {
                let value = part.leaves.get(path).and_then(|leaf| leaf.value.as_str());
                matches!(kind.change, plan::Change::Replaces { .. })
                    && value.is_some_and(|text| KubernetesVersion::parse(text).is_some())
            })
        });
        is_fixed && !self.raised().is_empty()
    }

    /// Whether the upgrade takes several minor versions, each with its own run of the scripts.
    fn goes_over(&self) -> bool {
        self.climbs()
            .any(|(.., goes)| matches!(goes, Move::Over(_)))
    }

    /// Whether a pool was created together with its cluster.
    fn is_first(&self, name: &str) -> bool {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let mut resources = plan.iter().flat_map(|plan| &plan.provisioning.resources);
        resources.any(|it| it.script == format!("pool-{name}") && it.comes_with.is_some())
    }

    /// The strategy to replace a pool that is on both sides and cannot be changed.
    pub(super) fn replacement_strategy(&self, name: &str) -> ReplacementStrategy {
        let of_version = self.is_of_version(name);
        if self.has_no_room(name) || (of_version && (self.setting.prunes || self.goes_over())) {
            ReplacementStrategy::RemoveFirst
        } else if of_version || self.is_first(name) {
            ReplacementStrategy::Rename
        } else {
            ReplacementStrategy::SideBySide
        }
    }

    /// Instructions to edit the input for a pool that cannot be changed.
    pub(super) fn rewritten(&self, name: &str) -> String {
        match self.replacement_strategy(name) {
            ReplacementStrategy::Rename if self.is_first(name) => format!(
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
                self.named_as_well(name)
            ),
        }
    }

    /// Pools that are removed before their replacement is created.
    fn leaving_first(&self) -> Vec<Leaving> {
        let leaving = self.with_impact(&[Impact::Deleted, Impact::Replaced]);
        let (gone, kept) = (pools(&leaving, true), pools(&leaving, false));
        let gone = gone.into_iter().filter(|name| self.has_no_room(name));
        let kept = kept
            .into_iter()
            .filter(|name| match self.provisioner_change(name) {
                Some(ProvisionerChange::From(_)) => self.has_no_room(name),
                Some(ProvisionerChange::To(_)) => false,
                None => self.replacement_strategy(name) == ReplacementStrategy::RemoveFirst,
            });
        let why = |name: String| {
            let is_over = self.goes_over() && self.is_of_version(&name);
            let why = if !self.has_no_room(&name) || is_over {
                VERSION
            } else if self.is_counted(&name) {
                RESERVED
            } else {
                UNKNOWN
            };
            (name, why)
        };
        gone.chain(kept).map(why).collect()
    }

    /// The steps for new pools whose reservation has no free machines because of pools that stay.
    pub(super) fn finds_no_machine(&self) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let mut steps = Vec::new();
        for pool in Self::pools_of(self.after) {
            let name = &pool.name.value;
            let (Some((id, Some(count))), Some(nodes), [None, _]) =
                (reserved(pool), pool.nodes.get(), self.both(name))
            else {
                continue;
            };
            let kept = Self::pools_of(self.after).iter().filter(|other| {
                let shares_reservation =
                    reserved(other).is_some_and(|(other_id, _)| other_id == id);
                shares_reservation && self.both(&other.name)[0].is_some()
            });
            let held: u64 = kept
                .clone()
                .filter_map(|other| other.nodes.get())
                .map(|nodes| u64::from(nodes.max))
                .sum();
            let names: Vec<String> = kept.map(|other| other.name.value.clone()).collect();
            if nodes.min == 0 || held + u64::from(nodes.min) <= u64::from(count) {
                continue;
            }
            steps.push(Step {
                what: format!(
                    "Reservation {id} has {count} machines, of which {} may use {held}. The new pool {name} needs {}, \
                     and nodes without a free machine are never created: reduce `nodes` of {} and run this command \
                     again. If {name} replaces one of them, remove that one from gpu-cluster.yaml instead, and it is \
                     removed first",
                    and(&names),
                    nodes.min,
                    if let [one] = names.as_slice() { one } else { "one of them" },
                ),
                commands: Vec::new(),
                changes: ids(&about_pool(&changes, name)),
            });
        }
        steps
    }

    /// Whether a pool is removed before its replacement is created.
    pub(super) fn leaves_first(&self, name: &str) -> bool {
        (self.leaving_first().iter()).any(|(leaving, _)| leaving == name)
    }

    /// Whether any pool is removed before its replacement is created.
    pub(super) fn any_leaves_first(&self) -> bool {
        !self.leaving_first().is_empty()
    }

    /// Whether the input cannot contain the old pool and its replacement at the same time.
    pub(super) fn cannot_stay(&self, name: &str) -> bool {
        self.leaves_first(name) || self.gives_hosts(name) || self.is_of_version(name)
    }

    /// Pools whose nodes are deleted by a push, and whose new nodes have no machines before.
    pub(super) fn made_after_push(&self) -> Vec<String> {
        (self.leaving_first().into_iter())
            .map(|(name, _)| name)
            .filter(|name| self.setting.prunes && self.both_makers(name)[0].is_some())
            .collect()
    }

    /// The steps that remove these pools: before intermediate versions, or before new resources are created.
    pub(super) fn room(&self, is_before_versions: bool) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let mut steps = Vec::new();
        for (name, why) in self.leaving_first() {
            let early = why == VERSION && self.goes_over();
            if early != is_before_versions || self.made_after_push().contains(&name) {
                continue;
            }
            let about = ids(&about_pool(&changes, &name));
            let maker = self.both_makers(&name)[0];
            if let Some(maker) = maker {
                if self.setting.prunes {
                    continue;
                }
                steps.push(Step {
                    what: format!(
                        "Remove pool {name} before its replacement is created: {why}. When its nodes are no longer \
                         needed, delete its {0} objects: {0} drains and deletes the nodes. Continue when they are gone",
                        maker.name
                    ),
                    commands: self.delete_provisioner_objects(&name, maker),
                    changes: about,
                });
                continue;
            }
            let until = if early {
                ", and leave it out of gpu-cluster.yaml until the last version below is set there"
            } else {
                ""
            };
            steps.push(Step {
                what: format!(
                    "Remove pool {name} before its replacement is created: {why}. Its pods terminate and stay pending \
                     until the new nodes are ready: drain it when it is no longer needed"
                ),
                commands: self.drain_pool(&name),
                changes: about.clone(),
            });
            steps.push(Step {
                what: format!("Delete the old pool {name}{until}"),
                commands: self.removal(|resource| resource.script == format!("pool-{name}")),
                changes: about,
            });
        }
        steps
    }
}

/// The reservation of a pool, and its number of machines if the file sets it.
fn reserved(pool: &Pool) -> Option<(&str, Option<u32>)> {
    match &pool.settings.capacity.value {
        Capacity::Reservation(it) => Some((&it.id, it.count.as_ref().map(|count| count.value))),
        Capacity::CapacityBlock(it) => Some((&it.id, Some(it.count.value))),
        _ => None,
    }
}
