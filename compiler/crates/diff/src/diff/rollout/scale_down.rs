//! Pools that lose nodes: the cloud chooses which nodes to remove, so pods must move first.

use gpuc_model::{NodeRange, POOL_LABEL, plan};
use gpuc_syntax::shell;
use serde_json::Value as Json;

use super::super::entities::Key;
use super::super::report::{Change, ClusterFate, Step};
use super::cleanup::about_pool;
use super::{Rollout, ids};

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
enum Less {
    /// Nodes in any zone: the size before and after.
    Nodes(NodeRange, NodeRange),
    /// All nodes in some zones.
    Zones(Vec<String>),
}

impl Rollout<'_> {
    /// Pools created by scripts that lose nodes.
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
                let list = |part: &super::super::entities::Part| {
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

    /// The steps that drain nodes to remove, and those that uncordon the remaining ones.
    pub(super) fn shrink_steps(&self) -> (Vec<Step>, Vec<Step>) {
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
                    "Pool {name} shrinks from {} to {}. The cloud chooses which nodes to remove, and their pods \
                     terminate: when jobs may be interrupted, drain the whole pool, because the choice is \
                     unpredictable. {}If all pods there may restart at any time, skip this step",
                    words(*was),
                    words(*is),
                    if was.is_fixed() && is.is_fixed() {
                        format!(
                            "To drain only the removed nodes, drain {} of your choice and, if the cloud supports it, \
                             delete exactly those machines and reduce the size of the pool with them. ",
                            was.max - is.max
                        )
                    } else {
                        String::new()
                    }
                ),
                Less::Nodes(_, is) => format!(
                    "Pool {name} now has a maximum of {}. If it has more, the cloud chooses which nodes to remove, and \
                     their pods terminate: when jobs may be interrupted, drain the pool. Otherwise skip this step",
                    words(NodeRange { min: is.max, ..*is })
                ),
                Less::Zones(zones) => format!(
                    "The nodes of pool {name} in {} are removed, and their pods terminate: when jobs may be \
                     interrupted, drain them",
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
                    what: format!("Uncordon the remaining nodes of pool {name}"),
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

    /// Whether a workload is removed together with nodes, and the user must delete it.
    pub(super) fn leaves_with_nodes(&self, change: &Change) -> bool {
        change.fate == ClusterFate::Removed
            && WORKLOADS.contains(&change.kind.as_str())
            && !self.setting.prunes
            && self.is_shrinking()
    }

    /// The step that deletes workloads before nodes are removed.
    pub(super) fn workloads_leave(&self) -> Option<Step> {
        let removed: Vec<&Change> = (self.changes.iter())
            .filter(|change| self.leaves_with_nodes(change))
            .collect();
        let commands = removed.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(|name| self.removed(&change.kind, name))
        });
        (!removed.is_empty()).then(|| Step {
            what: format!(
                "Before nodes are removed, delete the workloads that were removed from the tree: {}. Their pods \
                 terminate",
                self.setting.retention_reason()
            ),
            commands: commands.collect(),
            changes: ids(&removed),
        })
    }
}

impl Rollout<'_> {
    /// The step that deletes workloads that cannot be changed in place before nodes are removed.
    pub(super) fn ended(&self) -> Option<Step> {
        let is_fixed_workload =
            |change: &&Change| super::is_fixed(change) && WORKLOADS.contains(&change.kind.as_str());
        let recreated: Vec<&Change> = self.changes.iter().filter(is_fixed_workload).collect();
        let commands = recreated.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(|name| self.removed(&change.kind, name))
        });
        let removes_nodes =
            self.is_shrinking() || (self.any_leaves_first() && !self.is_by_commit());
        (removes_nodes && !recreated.is_empty()).then(|| Step {
            what: "Before nodes are removed, delete the workloads that cannot be changed in place: their pods \
                   terminate, and the deployment recreates them"
                .to_owned(),
            commands: commands.collect(),
            changes: ids(&recreated),
        })
    }
}

/// A step without the commands of another one; `None` if no commands remain.
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
