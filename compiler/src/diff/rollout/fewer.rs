//! Pools that lose nodes: a cloud picks which go, so what must not end leaves before.

use serde_json::Value as Json;

use super::super::parts::Key;
use super::super::shown::{Change, ClusterFate, Step};
use super::left::about_pool;
use super::{Rollout, ids};
use crate::model::{NodeRange, POOL_LABEL};
use crate::plan;
use crate::shell;

/// Kinds of what people run.
const WORKLOADS: &[&str] = &[
    "CronJob",
    "Deployment",
    "Job",
    "JobSet",
    "LeaderWorkerSet",
    "TrainJob",
];

/// What a pool loses.
enum Less {
    /// Nodes, wherever they are.
    Nodes(NodeRange, NodeRange),
    /// All nodes in some zones.
    Zones(Vec<String>),
}

impl Rollout<'_> {
    /// Pools of scripts that lose nodes.
    fn shrinking(&self) -> Vec<(String, Less)> {
        let mut found = Vec::new();
        if self.setting.before.own_hosts {
            return found;
        }
        for (key, new) in &self.setting.after.all {
            let Key::Pool(name) = key else { continue };
            let Some(old) = self.setting.before.all.get(key) else {
                continue;
            };
            if old.members.is_empty() || new.members.is_empty() {
                continue;
            }
            if let [Some(was), Some(is)] = self.both(name).map(|pool| pool?.nodes.get())
                && is.max < was.max
            {
                let grows = [was, is].map(|nodes| nodes.min < nodes.max);
                if self.setting.keeps_above_maximum(grows).is_some() {
                    continue;
                }
                found.push((name.clone(), Less::Nodes(*was, *is)));
                continue;
            }
            let zones = new.fields.iter().filter_map(|(path, kind)| {
                let resizes = matches!(kind.change, plan::Change::Resizes);
                let list = |part: &super::super::parts::Part| {
                    let value = &part.leaves.get(path)?.value;
                    value.as_array().filter(|_| resizes).cloned()
                };
                let new = list(new)?;
                let mut lost = list(old)?;
                lost.retain(|zone| !new.contains(zone));
                let lost = lost.into_iter();
                Some(lost.filter_map(|zone: Json| zone.as_str().map(str::to_owned)))
            });
            let zones: Vec<String> = zones.flatten().collect();
            if !zones.is_empty() {
                found.push((name.clone(), Less::Zones(zones)));
            }
        }
        found
    }

    /// Whether a pool loses nodes.
    pub(super) fn is_shrinking(&self) -> bool {
        !self.shrinking().is_empty()
    }

    /// How nodes that go are emptied, and how pods come back onto those that stay.
    pub(super) fn fewer(&self) -> (Vec<Step>, Vec<Step>) {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let (mut freed, mut back) = (Vec::new(), Vec::new());
        let emptied = self.emptied_pools();
        for (name, less) in self.shrinking() {
            if emptied.contains(&name) {
                continue;
            }
            let about = ids(&about_pool(&changes, &name));
            let pool = format!("{POOL_LABEL}={name}");
            let selector = match &less {
                Less::Nodes(..) => pool.clone(),
                Less::Zones(zones) => {
                    format!(
                        "{pool},topology.kubernetes.io/zone in ({})",
                        zones.join(",")
                    )
                }
            };
            let what = match &less {
                Less::Nodes(was, is) if was.min > is.max => format!(
                    "Pool {name} goes from {} to {}. The cloud picks which go, and what runs on these ends: when jobs may \
                     be interrupted, empty the pool, because nobody knows which it will be. {}Where all that runs there \
                     may start anew at any time, skip this",
                    words(*was),
                    words(*is),
                    if was.is_fixed() && is.is_fixed() {
                        format!(
                            "To empty no more than go, drain {} of your choice and have the cloud delete just those \
                             machines and count them off, as far as it lets you: then it has none to pick. ",
                            was.max - is.max
                        )
                    } else {
                        String::new()
                    }
                ),
                Less::Nodes(_, is) => format!(
                    "Pool {name} has {} at the most from now on. Where it has more, the cloud picks which go, and what \
                     runs on these ends: when jobs may be interrupted, empty the pool. Otherwise skip this",
                    words(NodeRange { min: is.max, ..*is })
                ),
                Less::Zones(zones) => format!(
                    "The nodes of pool {name} in {} go, and what runs on them ends: when jobs may be interrupted, empty \
                     them",
                    zones.join(", ")
                ),
            };
            let selector = shell::quote(&selector);
            let mut commands = vec![format!("{} get nodes -l {selector}", self.kubectl())];
            commands.extend(self.drain(&selector));
            freed.push(Step {
                what,
                commands,
                changes: about.clone(),
            });
            if matches!(less, Less::Nodes(..)) {
                back.push(Step {
                    what: format!("Let pods back onto the nodes of pool {name} that stayed"),
                    commands: vec![format!(
                        "{} uncordon -l {}",
                        self.kubectl(),
                        shell::quote(&pool)
                    )],
                    changes: about,
                });
            }
        }
        (freed, back)
    }

    /// Whether a workload leaves together with nodes, which nothing but a person removes.
    pub(super) fn leaves_with_nodes(&self, change: &Change) -> bool {
        change.fate == ClusterFate::Removed
            && WORKLOADS.contains(&change.kind.as_str())
            && !self.setting.prunes
            && self.is_shrinking()
    }

    /// What leaves before nodes do.
    pub(super) fn workloads_leave(&self) -> Option<Step> {
        let these = self.changes.iter().filter(|it| self.leaves_with_nodes(it));
        let these: Vec<&Change> = these.collect();
        let commands = these.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(|name| self.removed(&change.kind, name))
        });
        (!these.is_empty()).then(|| Step {
            what: format!(
                "Delete the workloads that left the tree, before the nodes go: {}, and what runs in them ends",
                self.setting.nobody()
            ),
            commands: commands.collect(),
            changes: ids(&these),
        })
    }
}

impl Rollout<'_> {
    /// Workloads that cannot be changed in place, on nodes that go: they end before.
    pub(super) fn ended(&self) -> Option<Step> {
        let is_one =
            |change: &&Change| super::is_fixed(change) && WORKLOADS.contains(&change.kind.as_str());
        let these: Vec<&Change> = self.changes.iter().filter(is_one).collect();
        let commands = these.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(|name| self.removed(&change.kind, name))
        });
        let goes = self.is_shrinking() || (self.any_leaves_first() && !self.is_by_commit());
        (goes && !these.is_empty()).then(|| Step {
            what: "Delete the workloads that cannot be changed in place, before nodes go: what runs in them ends, and they \
                   are made anew with what is brought"
                .to_owned(),
            commands: commands.collect(),
            changes: ids(&these),
        })
    }
}

/// A step without commands that another one had; nothing where that had all of them.
pub(super) fn without(mut step: Step, other: Option<&Step>) -> Option<Step> {
    let before = step.commands.len();
    if let Some(other) = other {
        step.commands.retain(|it| !other.commands.contains(it));
    }
    (before == 0 || !step.commands.is_empty()).then_some(step)
}

fn words(nodes: NodeRange) -> String {
    let number = if nodes.is_fixed() {
        nodes.max.to_string()
    } else {
        format!("{}-{}", nodes.min, nodes.max)
    };
    format!("{number} node{}", if nodes.max == 1 { "" } else { "s" })
}
