//! GPUs that must be free for a moment: how they are freed, and how pods come back.

use std::collections::{BTreeMap, BTreeSet};

use super::super::impact::Impact;
use super::super::parts::{Key, PLUGIN, Part, SHARING};
use super::super::shown::{Change, ClusterFate, FieldChange, Step};
use super::left::about_pool;
use super::{Rollout, unique};
use crate::plan::ADVERTISED_BY_DRA;
use crate::shell;

/// Why the GPUs of a pool must be free, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// Slices are cut, or a driver is exchanged: node by node.
    Exchanged,
    /// Nodes cannot have their old taint beside the new one.
    Tainted,
    /// The daemon that programs compute through ends or begins.
    Mps,
    /// Something else hands out what pods still hold.
    HandedOut,
    /// The driver of the network cards is exchanged.
    Network,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::Exchanged => "",
            Self::Mps => {
                ": with the daemon of the Multi-Process Service end all programs that compute through it, and where it \
                 begins, others cannot"
            }
            Self::HandedOut => {
                ": what pods hold by the old names is handed out again by the new ones"
            }
            Self::Tainted => {
                ": a taint has another value, and a node cannot have both, so that between the script and what is brought \
                 nothing that serves them comes to a node or back to one"
            }
            Self::Network => {
                ": with the driver of the network cards go the connections of all that runs, and then the jobs"
            }
        }
    }
}

impl Rollout<'_> {
    /// Why a change frees the GPUs of pools, and which pools.
    fn frees<'c>(&self, change: &'c Change) -> Vec<(String, Why)> {
        let by_field = |field: &'c FieldChange| match field.path.as_str() {
            PLUGIN if is_either(field, |text| text == ADVERTISED_BY_DRA) => Some(Why::HandedOut),
            SHARING if is_either(field, |text| text.starts_with("MPS")) => Some(Why::Mps),
            SHARING if is_either(field, |text| text == "exclusive") => Some(Why::HandedOut),
            _ => None,
        };
        let is_kept = change.fate == ClusterFate::Kept;
        let why = match (change.kind.as_str(), change.impact) {
            ("pool", Impact::SlicesRecut | Impact::DriverRestarted) if is_kept => {
                Some(Why::Exchanged)
            }
            ("pool", _) if is_kept => change.fields.iter().find_map(by_field),
            ("DaemonSet" | "Helm release", Impact::WorkloadRestarted) if is_kept => Some(Why::Mps),
            ("NicNodePolicy", Impact::DriverRestarted) => Some(Why::Network),
            ("NicNodePolicy", _) if change.names.iter().any(|it| self.is_driver_left(it)) => {
                Some(Why::Network)
            }
            _ => None,
        };
        let Some(why) = why else {
            return Vec::new();
        };
        let mut pools = Vec::new();
        for name in &change.names {
            if change.kind == "pool" {
                pools.push(name.clone());
            } else if let Some(part) = self.part(&change.kind, name) {
                pools.extend(part.pools.iter().cloned());
                // Nodes that others made are told by their own labels.
                let plugin = name.rsplit_once("/gpuc-runtime-");
                pools.extend(plugin.map(|(_, pool)| pool.to_owned()));
            }
        }
        // A pool that comes or leaves has nothing that could go on.
        let is_there = |name: &String| {
            let sides = [self.setting.before, self.setting.after];
            let mut sides = sides.iter().map(|side| &side.summary.pools);
            sides.all(|pools| pools.iter().any(|pool| pool.name == *name))
        };
        pools.retain(is_there);
        pools.retain(|name| !self.is_remade(name, why));
        if why == Why::Mps && change.kind != "pool" {
            pools.retain(|name| self.has_mps(name));
        }
        pools.into_iter().map(|name| (name, why)).collect()
    }

    /// Whether a pool's nodes are made again anyway, so that nothing runs on the new ones.
    fn is_remade(&self, name: &String, why: Why) -> bool {
        let remade = |change: &Change| match change.impact {
            Impact::Replaced => true,
            Impact::NodesRecreated => why != Why::Exchanged,
            _ => false,
        };
        let mut changes = self.changes.iter();
        changes.any(|it| it.kind == "pool" && it.names.contains(name) && remade(it))
    }

    /// Whether a policy that left the tree still brings a driver, because nothing removes it.
    pub(super) fn is_driver_left(&self, name: &str) -> bool {
        let key = |key: &Key| key.kind() == "NicNodePolicy" && key.name() == *name;
        let [before, after] = [self.setting.before, self.setting.after]
            .map(|side| side.all.iter().find(|(it, _)| key(it)));
        let brings = |part: &Part| {
            let mut paths = part.leaves.keys();
            paths.any(|path| path.starts_with("spec.ofedDriver"))
        };
        let is_there = |pools: &BTreeSet<String>| {
            let mut all = self.setting.after.summary.pools.iter();
            all.any(|pool| pools.contains(&pool.name))
        };
        !self.setting.prunes
            && after.is_none()
            && before.is_some_and(|(_, part)| brings(part) && is_there(&part.pools))
    }

    /// Such a driver leaves while its nodes are free.
    pub(super) fn network_driver_leaves(&self) -> Option<Step> {
        let of_kind = |change: &&Change| change.kind == "NicNodePolicy";
        let changes: Vec<&Change> = self.changes.iter().filter(of_kind).collect();
        let names = changes.iter().flat_map(|change| &change.names);
        let commands: Vec<String> = names
            .filter(|name| self.is_driver_left(name))
            .map(|name| self.removed("NicNodePolicy", name))
            .collect();
        (!commands.is_empty()).then(|| Step {
            what:
                "Remove the driver of the network cards that left the tree, while nothing uses it"
                    .to_owned(),
            commands,
            changes: super::ids(&changes),
        })
    }

    fn has_mps(&self, name: &str) -> bool {
        let sides = [self.setting.before, self.setting.after];
        let mut pools = sides.iter().flat_map(|side| &side.summary.pools);
        pools.any(|pool| pool.name == name && pool.sharing.starts_with("MPS"))
    }

    /// Pools that are emptied for a moment: why, and because of which changes.
    fn freed(&self) -> BTreeMap<String, (Why, Vec<usize>)> {
        let mut freed: BTreeMap<String, (Why, Vec<usize>)> = BTreeMap::new();
        let mut add = |name: String, why: Why, id: usize| {
            let known = freed.entry(name).or_insert((why, Vec::new()));
            known.0 = known.0.max(why);
            known.1.push(id);
        };
        for change in self.changes {
            for (name, why) in self.frees(change) {
                add(name, why, change.id);
            }
            for name in self.driven(change) {
                add(name, Why::Exchanged, change.id);
            }
        }
        let all: Vec<&Change> = self.changes.iter().collect();
        for name in self.tainted_anew() {
            for change in about_pool(&all, &name) {
                add(name.clone(), Why::Tainted, change.id);
            }
        }
        freed
    }

    /// Pools that are emptied for a moment.
    pub(super) fn emptied_pools(&self) -> BTreeSet<String> {
        self.freed().into_keys().collect()
    }

    /// The pools whose driver a change restarts that is none of a pool itself.
    fn driven(&self, change: &Change) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let is_driver = change.impact == Impact::DriverRestarted && change.kind != "NicNodePolicy";
        if !is_driver || change.kind == "pool" || change.fate == ClusterFate::Added {
            return all;
        }
        let sides = [self.setting.before, self.setting.after];
        for (key, part) in sides.iter().flat_map(|parts| &parts.all) {
            if key.kind() != change.kind || !change.names.contains(&key.name()) {
                continue;
            }
            let every = self.setting.after.summary.pools.iter();
            let every = every.filter(|pool| part.pools.is_empty() && !pool.gpus.is_empty());
            all.extend(part.pools.iter().cloned());
            all.extend(every.map(|pool| pool.name.clone()));
        }
        all.retain(|name| {
            let key = Key::Pool(name.clone());
            sides.iter().all(|parts| parts.all.contains_key(&key))
        });
        all
    }

    /// Pools whose GPUs must be free for a moment: how they are freed, and how pods come back.
    pub(super) fn drained(&self) -> (Vec<Step>, Vec<Step>) {
        let when = self.when();
        let freed = self.freed().into_iter();
        // What leaves before anything takes its place is drained for that, and its nodes do not come back.
        let freed = freed.filter(|(name, _)| !self.leaves_first(name));
        let both = freed.map(|(name, (why, changes))| {
            let nodes = shell::quote(&self.labels(&name));
            let changes = unique(changes);
            let how = if why == Why::Exchanged {
                "Where jobs cannot all leave at once, take one node after the other"
            } else {
                "All of its nodes at once: the next steps reach every one"
            };
            let free = Step {
                what: format!("Free the GPUs of pool {name}{when}{}. {how}", why.words()),
                commands: self.drain(&nodes),
                changes: changes.clone(),
            };
            let back = Step {
                what: format!(
                    "Let pods back onto pool {name}, when its nodes offer what they should"
                ),
                commands: vec![format!("{} uncordon -l {nodes}", self.kubectl())],
                changes,
            };
            (free, back)
        });
        both.unzip()
    }
}

/// Whether a field was or is something.
fn is_either(field: &FieldChange, is_it: impl Fn(&str) -> bool) -> bool {
    let sides = [&field.from, &field.to];
    let mut texts = sides.into_iter().flatten().filter_map(|it| it.as_str());
    texts.any(is_it)
}
