//! What to do in which order, where one run of the scripts and one sync are not enough.

mod gitops;
mod left;
mod versions;

use std::collections::BTreeSet;

use super::impact::Impact;
use super::judge::Setting;
use super::parts::Key;
use super::shown::{Change, ClusterFate, Step};
use crate::compile::Compilation;
use crate::model::POOL_LABEL;
use crate::plan::{Command, Word};
use crate::shell;

/// The steps; none where a run of the scripts and a sync do it. Commands are run from the cluster's folder in the tree.
pub(super) fn rollout(
    setting: &Setting<'_>,
    (before, after): (Option<&Compilation>, Option<&Compilation>),
    changes: &[Change],
) -> Vec<Step> {
    if after.is_none() {
        return vec![Step {
            what: "Remove the cluster with the tree that the base has of it, before that leaves the repository: no \
                   script is left afterwards that could"
                .to_owned(),
            commands: vec!["cloud/teardown.sh --dry-run".to_owned(), "cloud/teardown.sh".to_owned()],
            changes: changes.iter().map(|change| change.id).collect(),
        }];
    }
    let plan = Rollout {
        setting,
        before,
        after,
        changes,
    };
    let mut steps: Vec<Step> = Vec::new();
    steps.extend(plan.beside());
    steps.extend(plan.driver_first());
    steps.extend(plan.in_the_cloud());
    steps.extend(plan.new_tool_begins());
    steps.extend(plan.followers());
    steps.extend(plan.drained());
    steps.extend(plan.fixed());
    steps.extend(plan.left());
    let before_it = plan.versions().into_iter().chain(plan.old_tool_leaves());
    let mut all: Vec<Step> = before_it.collect();
    if steps.is_empty() && all.is_empty() {
        return steps;
    }
    all.push(Step {
        what: "Build, review and commit".to_owned(),
        commands: vec!["gpuc build".to_owned()],
        changes: Vec::new(),
    });
    all.extend(steps);
    all
}

/// What there is to order.
struct Rollout<'a> {
    setting: &'a Setting<'a>,
    before: Option<&'a Compilation>,
    after: Option<&'a Compilation>,
    changes: &'a [Change],
}

impl Rollout<'_> {
    /// kubectl, with the context of the cluster where the file names one.
    fn kubectl(&self) -> String {
        let context = self.setting.before.context.as_ref();
        match context.or(self.setting.after.context.as_ref()) {
            Some(context) => format!("kubectl --context {}", shell::quote(context)),
            None => "kubectl".to_owned(),
        }
    }

    /// Whether scripts make the nodes of pools.
    fn is_made(&self, change: &Change) -> bool {
        change.names.iter().any(|name| {
            let sides = [self.setting.before, self.setting.after];
            let parts = sides
                .into_iter()
                .filter_map(|side| side.all.get(&Key::Pool(name.clone())));
            parts.clone().any(|part| part.maker.is_none())
        })
    }

    /// The command that brings the tree, where no tool does by itself.
    fn brings(&self) -> Option<String> {
        let tool = self.setting.after.tool;
        tool.is_empty().then(|| "./install.sh".to_owned())
    }

    fn of(&self, impacts: &[Impact]) -> Vec<&Change> {
        let these = self.changes.iter();
        these
            .filter(|change| impacts.contains(&change.impact))
            .collect()
    }

    /// Pools that a cloud cannot change: another is made beside each.
    fn beside(&self) -> Vec<Step> {
        let replaced = self.of(&[Impact::Replaced]);
        let stuck = pools(&replaced, false).into_iter();
        let stuck = stuck.filter(|name| self.handed(name).is_none());
        let steps = stuck.map(|name| Step {
            what: format!(
                "Pool {name} cannot be changed as it is. In gpu-cluster.yaml leave it as it was and add a pool beside \
                 it, under another name, as it shall be"
            ),
            commands: Vec::new(),
            changes: ids(&replaced),
        });
        let pools: Vec<Step> = steps.collect();
        let others = replaced
            .iter()
            .filter(|change| change.kind != "pool" && !self.goes_back(change));
        let others: Vec<&Change> = others.copied().collect();
        let cannot = (!others.is_empty()).then(|| Step {
            what: "What the cluster itself cannot change stops every script: take that back, or make another cluster \
                   of another name and move to it"
                .to_owned(),
            commands: Vec::new(),
            changes: ids(&others),
        });
        pools.into_iter().chain(cannot).collect()
    }

    fn driver_first(&self) -> Option<Step> {
        let driver = self.of(&[Impact::DriverRestarted]);
        let plugin = self.of(&[Impact::PluginRestarted]);
        (!driver.is_empty() && !plugin.is_empty()).then(|| Step {
            what: "Bring the driver before the plugin: let what installs drivers finish, and look that nvidia-smi \
                   answers on a node, before what advertises GPUs follows"
                .to_owned(),
            commands: Vec::new(),
            changes: ids(&[driver, plugin].concat()),
        })
    }

    /// What scripts do: new pools, and nodes that are made again.
    fn in_the_cloud(&self) -> Option<Step> {
        let rolled = self.of(&[Impact::NodesRecreated]);
        let by_script = |change: &&&Change| {
            let in_cloud = change.files.iter().any(|file| file.starts_with("cloud/"));
            in_cloud && !self.follows(change)
        };
        let rolled: Vec<&Change> = rolled.iter().filter(by_script).copied().collect();
        let leaving = self.of(&[Impact::Deleted, Impact::Replaced]);
        let raised = self.raised();
        let is_made = |change: &&Change| change.kind == "pool" && self.is_made(change);
        let has_pools = !raised.is_empty() || leaving.iter().any(is_made);
        let (what, flag) = match (rolled.is_empty(), has_pools) {
            (true, false) => return None,
            (true, true) => (
                "Make what is new in the cloud, and see that its nodes are ready",
                "",
            ),
            (false, _) => (
                "Let the cloud drain nodes and make them again, when jobs may be interrupted",
                " --allow-disruption",
            ),
        };
        let makes = self.of(&[Impact::CapacityGained, Impact::Added, Impact::CapacityLost]);
        Some(Step {
            what: what.to_owned(),
            commands: vec![
                format!("cloud/apply.sh --dry-run{flag}"),
                format!("cloud/apply.sh{flag}"),
            ],
            changes: ids(&[raised, rolled, makes].concat()),
        })
    }

    /// Pools whose GPUs must be free for a moment.
    fn drained(&self) -> Vec<Step> {
        let drained = self.of(&[Impact::SlicesRecut, Impact::DriverRestarted]);
        let step = |name: String| {
            let nodes = shell::quote(&format!("{POOL_LABEL}={name}"));
            let mut commands = self.drain(&nodes);
            commands.extend(self.brings());
            commands.push("cloud/verify.sh".to_owned());
            commands.push(format!("{} uncordon -l {nodes}", self.kubectl()));
            Step {
                what: format!(
                    "Free the GPUs of pool {name}, bring the change, see that its nodes offer what they should, and let \
                     pods back. Where jobs cannot all leave at once, take one node after the other"
                ),
                commands,
                changes: ids(&drained),
            }
        };
        pools(&drained, false).into_iter().map(step).collect()
    }

    /// Objects that the API server does not let anybody change.
    fn fixed(&self) -> Option<Step> {
        let is_fixed = |change: &&Change| {
            change.fields.iter().any(|field| {
                let because = field.because.as_deref().unwrap_or_default();
                because.contains("cannot be changed: delete the ")
            })
        };
        let fixed: Vec<&Change> = self.changes.iter().filter(is_fixed).collect();
        let commands = fixed.iter().flat_map(|change| {
            let names = change.names.iter();
            names.map(|name| self.removed(&change.kind, name))
        });
        (!fixed.is_empty()).then(|| Step {
            what: "Delete what cannot be changed in place, right before it is brought anew: what runs in it ends"
                .to_owned(),
            commands: commands.collect(),
            changes: ids(&fixed),
        })
    }

    /// The commands that empty nodes, by a selector.
    fn drain(&self, nodes: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        vec![
            format!("{kubectl} cordon -l {nodes}"),
            format!("{kubectl} drain -l {nodes} --ignore-daemonsets --delete-emptydir-data"),
        ]
    }

    /// The command that deletes an object, by its kind and its name with its namespace in front.
    fn removed(&self, kind: &str, name: &str) -> String {
        let kind = shell::quote(&kind.to_lowercase());
        let kubectl = self.kubectl();
        match name.split_once('/') {
            Some((namespace, name)) => format!(
                "{kubectl} delete {kind} {} --namespace {}",
                shell::quote(name),
                shell::quote(namespace)
            ),
            None => format!("{kubectl} delete {kind} {}", shell::quote(name)),
        }
    }
}

fn ids(changes: &[&Change]) -> Vec<usize> {
    changes.iter().map(|change| change.id).collect()
}

/// The pools of changes, those that are gone or those that are still there.
fn pools(changes: &[&Change], gone: bool) -> BTreeSet<String> {
    let pools = changes.iter().filter(|change| change.kind == "pool");
    let these = pools.filter(|change| (change.fate == ClusterFate::Removed) == gone);
    these.flat_map(|change| change.names.clone()).collect()
}

/// A command as it is typed; `None` where a part of it is known only to the script.
fn text(command: &Command) -> Option<String> {
    let word = |word: &Word| match word {
        Word::Text(text) => Some(shell::quote(text)),
        _ => None,
    };
    let words: Option<Vec<String>> = command.0.iter().map(word).collect();
    Some(words?.join(" "))
}
