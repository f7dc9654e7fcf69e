//! Pools that must be drained temporarily, and uncordoned afterwards.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::ADVERTISED_BY_DRA;
use gpuc_syntax::shell;

use super::super::entities::{Key, PLUGIN, Part, SHARING};
use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, FieldChange, Step};
use super::cleanup::about_pool;
use super::{Rollout, unique};

/// The reason to drain the GPU nodes of a pool, in increasing order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// GPUs are repartitioned or a driver is replaced, node by node.
    Exchanged,
    /// Nodes cannot have the old taint next to the new one.
    Tainted,
    /// The MPS daemon stops or starts.
    Mps,
    /// Another component allocates GPUs that pods still hold.
    HandedOut,
    /// The NIC driver is replaced.
    Network,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::Exchanged => "",
            Self::Mps => {
                ": programs that compute through the MPS daemon stop with it, and programs without MPS cannot compute \
                 once it starts"
            }
            Self::HandedOut => {
                ": GPUs that pods hold under the old names are allocated again under the new ones"
            }
            Self::Tainted => {
                ": a taint has another value, and a node cannot have both, so between the script and the deployment no \
                 device plugin can start on these nodes"
            }
            Self::Network => {
                ": the NIC driver is replaced, and running jobs lose their connections and fail"
            }
        }
    }
}

impl Rollout<'_> {
    /// The pools that a change requires to drain, with the reason.
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
                // Existing nodes have their own labels, so the DaemonSet's name identifies the pool.
                let plugin = name.rsplit_once("/gpuc-runtime-");
                pools.extend(plugin.map(|(_, pool)| pool.to_owned()));
            }
        }
        // A new or removed pool has no running workloads to preserve.
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

    /// Whether a pool's nodes are recreated anyway, so that the new ones are empty.
    fn is_remade(&self, name: &String, why: Why) -> bool {
        let remade = |change: &Change| match change.impact {
            Impact::Replaced => true,
            Impact::NodesRecreated => why != Why::Exchanged,
            _ => false,
        };
        let mut changes = self.changes.iter();
        changes.any(|it| it.kind == "pool" && it.names.contains(name) && remade(it))
    }

    /// Whether a policy removed from the tree still installs a driver, because nothing deletes it.
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

    /// The step that removes such a driver while its nodes are drained.
    pub(super) fn network_driver_leaves(&self) -> Option<Step> {
        let of_kind = |change: &&Change| change.kind == "NicNodePolicy";
        let changes: Vec<&Change> = self.changes.iter().filter(of_kind).collect();
        let names = changes.iter().flat_map(|change| &change.names);
        let commands: Vec<String> = names
            .filter(|name| self.is_driver_left(name))
            .map(|name| self.removed("NicNodePolicy", name))
            .collect();
        (!commands.is_empty()).then(|| Step {
            what: "While nothing uses it, delete the NIC driver that was removed from the tree"
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

    /// Pools that are drained temporarily, with the reason and the changes.
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
        for name in self.drained_for_taints() {
            for change in about_pool(&all, &name) {
                add(name.clone(), Why::Tainted, change.id);
            }
        }
        freed
    }

    /// Pools that are drained temporarily.
    pub(super) fn emptied_pools(&self) -> BTreeSet<String> {
        self.freed().into_keys().collect()
    }

    /// The pools whose driver restarts by a change of another resource than the pool.
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

    /// The steps that drain pools temporarily, and those that uncordon them.
    pub(super) fn temporary_drains(&self) -> (Vec<Step>, Vec<Step>) {
        let when = self.when();
        let freed = self.freed().into_iter();
        // Pools that are removed first are drained by their own step, and their nodes do not return.
        let freed = freed.filter(|(name, _)| !self.leaves_first(name));
        let both = freed.map(|(name, (why, changes))| {
            let nodes = shell::quote(&self.labels(&name));
            let changes = unique(changes);
            let how = if why == Why::Exchanged {
                "If the jobs cannot all stop at once, drain one node after the other"
            } else {
                "Drain all of its nodes at once: the next steps affect every node"
            };
            let free = Step {
                what: format!("Drain pool {name}{when}{}. {how}", why.words()),
                commands: self.drain(&nodes),
                changes: changes.clone(),
            };
            let back = Step {
                what: format!(
                    "Uncordon pool {name} when its nodes advertise the expected resources"
                ),
                commands: vec![format!("{} uncordon -l {nodes}", self.kubectl())],
                changes,
            };
            (free, back)
        });
        both.unzip()
    }
}

/// Whether the value before or after is a text that matches.
fn is_either(field: &FieldChange, matches: impl Fn(&str) -> bool) -> bool {
    let sides = [&field.from, &field.to];
    let mut texts = sides.into_iter().flatten().filter_map(|it| it.as_str());
    texts.any(matches)
}
