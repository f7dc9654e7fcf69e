//! Pools that another one takes the place of, where there is no room for both at a time.

use super::super::impact::Impact;
use super::super::judge::Move;
use super::super::parts::Key;
use super::super::shown::{Change, Step};
use super::left::{Handed, about_pool};
use super::queues::and;
use super::{Rollout, ids, pools};
use crate::compile::Compilation;
use crate::model::{KubernetesVersion, Pool};
use crate::plan;
use gpuc_schema::config::Capacity;

/// How a pool that its cloud cannot change becomes what it shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Another one is made beside it, and it stays in the input meanwhile.
    Beside,
    /// It has another name in the input, so that the scripts do not look at the old one.
    Renamed,
    /// The old one goes first.
    First,
}

/// The pools that leave first, with why.
type Leaving = (String, &'static str);

const RESERVED: &str = "its reservation has no machines for another pool beside it";
const UNKNOWN: &str = "nobody says by `count` how many machines its reservation holds, so that there may be none for another \
                       pool beside it";
const VERSION: &str = "its nodes cannot keep their version while that of the cluster goes up";

impl Rollout<'_> {
    fn pools_of(side: Option<&Compilation>) -> &[Pool] {
        let cluster = side.and_then(|side| side.cluster.as_ref());
        cluster.map_or(&[], |cluster| &cluster.pools)
    }

    /// A pool as it was and as it is.
    pub(super) fn both(&self, name: &str) -> [Option<&Pool>; 2] {
        [self.before, self.after].map(|side| {
            let mut pools = Self::pools_of(side).iter();
            pools.find(|pool| pool.name.value == name)
        })
    }

    /// Whether the machines of a pool are reserved, and what would be made of it is to have some of the same before the
    /// old nodes are gone, for which the reservation is too small.
    fn has_no_room(&self, name: &str) -> bool {
        let [old, new] = self.both(name);
        let Some((id, _)) = old.and_then(reserved) else {
            return false;
        };
        let of = |side: Option<&Compilation>| {
            let pools = Self::pools_of(side).iter();
            let these = pools.filter(|pool| reserved(pool).is_some_and(|(of, _)| of == id));
            these.cloned().collect::<Vec<Pool>>()
        };
        let (was, is) = (of(self.before), of(self.after));
        // A pool that stays as it is has its machines already.
        let comes: Vec<&Pool> = is
            .iter()
            .filter(|pool| match new {
                Some(_) => pool.name.value == name,
                None => was.iter().all(|old| old.name.value != pool.name.value),
            })
            .collect();
        let held = was.iter().filter_map(|pool| pool.nodes.get());
        let held: u64 = held.map(|nodes| u64::from(nodes.max)).sum();
        // Scripts that take over are to serve before what made nodes until now goes, also where they begin with none.
        let takes_over = matches!(self.handed(name), Some(Handed::From(_))) && !self.setting.prunes;
        let least = u64::from(takes_over);
        let wanted = comes.iter().filter_map(|pool| pool.nodes.get());
        let wanted: u64 = wanted.map(|nodes| u64::from(nodes.min).max(least)).sum();
        let counts = was.iter().chain(&is).filter_map(reserved);
        let count = counts.filter_map(|(_, count)| count).max();
        wanted > 0 && count.is_none_or(|count| held + wanted > u64::from(count))
    }

    /// Whether the file says how many machines the reservation of a pool holds.
    fn is_counted(&self, name: &str) -> bool {
        let [old, _] = self.both(name);
        let id = old.and_then(reserved).map(|(id, _)| id);
        let sides = [self.before, self.after].into_iter();
        let mut all = sides.flat_map(Self::pools_of).filter_map(reserved);
        all.any(|(of, count)| Some(of) == id && count.is_some())
    }

    /// Whether the machines of a pool are those of a reservation.
    pub(super) fn is_reserved(&self, name: &str) -> bool {
        self.both(name)[0].is_some_and(Pool::is_reserved)
    }

    /// The reservation of a pool and what it holds, where the pools of it may have all there is at a time.
    pub(super) fn filled(&self, name: &str) -> Option<(&str, Option<u32>)> {
        let (id, _) = self.both(name)[1].and_then(reserved)?;
        let pools = Self::pools_of(self.after).iter();
        let these = pools.filter(|pool| reserved(pool).is_some_and(|(of, _)| of == id));
        let count = these.clone().filter_map(|pool| reserved(pool)?.1).max();
        let most = these.filter_map(|pool| pool.nodes.get());
        let most: u64 = most.map(|nodes| u64::from(nodes.max)).sum();
        count
            .is_none_or(|count| most >= u64::from(count))
            .then_some((id, count))
    }

    /// Whether the cluster's version is one that the nodes of a pool cannot follow in place, and it goes up.
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

    /// Whether versions are gone over, each with a run of the scripts.
    fn goes_over(&self) -> bool {
        self.climbs()
            .any(|(.., goes)| matches!(goes, Move::Over(_)))
    }

    /// Whether a pool is the one that its cluster was made with.
    fn is_first(&self, name: &str) -> bool {
        let plan = self.before.and_then(|before| before.plan.as_ref());
        let mut resources = plan.iter().flat_map(|plan| &plan.provisioning.resources);
        resources.any(|it| it.script == format!("pool-{name}") && it.comes_with.is_some())
    }

    /// How a pool that cannot be changed and is there on both sides becomes another one.
    pub(super) fn way(&self, name: &str) -> Way {
        let of_version = self.is_of_version(name);
        if self.has_no_room(name) || (of_version && (self.setting.prunes || self.goes_over())) {
            Way::First
        } else if of_version || self.is_first(name) {
            Way::Renamed
        } else {
            Way::Beside
        }
    }

    /// What is to be written of a pool that cannot be changed.
    pub(super) fn rewritten(&self, name: &str) -> String {
        match self.way(name) {
            Way::Renamed if self.is_first(name) => format!(
                "Pool {name} cannot be changed as it is, and it is the one that the cluster was made with: give it \
                 another name in gpu-cluster.yaml, wherever that is written, and leave it in its place there, so that \
                 the new one takes over from it"
            ),
            Way::Renamed => format!(
                "Pool {name} cannot be changed as it is, nor stay in gpu-cluster.yaml as it was, because {VERSION}: give \
                 it another name there, wherever that is written"
            ),
            Way::First | Way::Beside => format!(
                "Pool {name} cannot be changed as it is. In gpu-cluster.yaml leave it as it was and add a pool beside \
                 it, under another name, as it shall be{}",
                self.named_as_well(name)
            ),
        }
    }

    /// Pools of scripts or of something in the cluster that leave before what takes their place is made.
    fn leaving_first(&self) -> Vec<Leaving> {
        let leaving = self.of(&[Impact::Deleted, Impact::Replaced]);
        let (gone, kept) = (pools(&leaving, true), pools(&leaving, false));
        let gone = gone.into_iter().filter(|name| self.has_no_room(name));
        let kept = kept.into_iter().filter(|name| match self.handed(name) {
            Some(Handed::From(_)) => self.has_no_room(name),
            Some(Handed::To(_)) => false,
            None => self.way(name) == Way::First,
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

    /// New pools for which pools that stay leave no machines in their reservation.
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
            let stays = Self::pools_of(self.after).iter().filter(|other| {
                let of = reserved(other).is_some_and(|(of, _)| of == id);
                of && self.both(&other.name)[0].is_some()
            });
            let held: u64 = stays
                .clone()
                .filter_map(|other| other.nodes.get())
                .map(|nodes| u64::from(nodes.max))
                .sum();
            let names: Vec<String> = stays.map(|other| other.name.value.clone()).collect();
            if nodes.min == 0 || held + u64::from(nodes.min) <= u64::from(count) {
                continue;
            }
            steps.push(Step {
                what: format!(
                    "Reservation {id} holds {count} machines, of which {} may have {held}. The new pool {name} needs {}, \
                     and nodes for which there is no machine never come: write less under `nodes` of {} and run this \
                     command again, or, where {name} shall take the place of one of them, take that one out of \
                     gpu-cluster.yaml, and it leaves first",
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

    /// Whether a pool leaves before anything is made in its place.
    pub(super) fn leaves_first(&self, name: &str) -> bool {
        self.leaving_first().iter().any(|(it, _)| it == name)
    }

    /// Whether any pool does.
    pub(super) fn any_leaves_first(&self) -> bool {
        !self.leaving_first().is_empty()
    }

    /// Whether the input cannot have the old pool and what takes its place at a time.
    pub(super) fn cannot_stay(&self, name: &str) -> bool {
        self.leaves_first(name) || self.gives_hosts(name) || self.is_of_version(name)
    }

    /// Pools whose nodes leave by a push, and whose new ones find no machine before.
    pub(super) fn made_after_push(&self) -> Vec<String> {
        let mut all = self.leaving_first();
        all.retain(|(name, _)| self.setting.prunes && self.both_makers(name)[0].is_some());
        all.into_iter().map(|(name, _)| name).collect()
    }

    /// The steps by which these leave: before the versions between, where there are some, or before what is made.
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
                        "Pool {name} leaves before anything takes its place: {why}. When nothing needs its nodes any \
                         more, delete the objects by which {} makes them: it drains and deletes these. Go on when they \
                         are gone",
                        maker.name
                    ),
                    commands: self.unmaking(&name, maker),
                    changes: about,
                });
                continue;
            }
            let until = if early {
                ", and leave it out of gpu-cluster.yaml until the last of the versions below is written there"
            } else {
                ""
            };
            steps.push(Step {
                what: format!(
                    "Pool {name} leaves before anything takes its place: {why}. What runs on it ends and waits until the \
                     new nodes serve: when nothing needs it any more, drain it"
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

/// The reservation of a pool, and how many machines it holds where the file says so.
fn reserved(pool: &Pool) -> Option<(&str, Option<u32>)> {
    match &pool.written.capacity.value {
        Capacity::Reservation(it) => Some((&it.id, it.count.as_ref().map(|count| count.value))),
        Capacity::CapacityBlock(it) => Some((&it.id, Some(it.count.value))),
        _ => None,
    }
}
