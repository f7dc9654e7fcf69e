//! What to do in which order, where one run of the scripts and one sync are not enough.

mod brought;
mod cloud;
mod elsewhere;
mod gitops;
mod left;
mod versions;

pub use brought::BUILD;

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
        let moved = Step {
            what: "Where another cluster takes its place, make that one first, by the steps of \
                   its own tree's README. Then move the work"
                .to_owned(),
            commands: Vec::new(),
            changes: Vec::new(),
        };
        let removed = Step {
            what: "When nothing needs the cluster any more, remove it with the tree that the base has of it, before that \
                   leaves the repository: no script is left afterwards that could"
                .to_owned(),
            commands: vec!["cloud/teardown.sh --dry-run".to_owned(), "cloud/teardown.sh".to_owned()],
            changes: changes.iter().map(|change| change.id).collect(),
        };
        return vec![moved, removed];
    }
    let plan = Rollout {
        setting,
        before,
        after,
        changes,
    };
    if let Some(steps) = plan.another_cluster() {
        return steps;
    }
    plan.ordered()
}

/// Steps that were reckoned from an older state than the base, which name the changes that people are shown.
pub(super) fn since_built(
    mut steps: Vec<Step>,
    commit: &str,
    (since, shown): (&[Change], &[Change]),
) -> Vec<Step> {
    let same = |one: &Change, other: &&Change| {
        one.kind == other.kind && one.names.iter().any(|name| other.names.contains(name))
    };
    for step in &mut steps {
        let about = since
            .iter()
            .filter(|change| step.changes.contains(&change.id));
        let all = about.flat_map(|one| shown.iter().filter(move |other| same(one, other)));
        step.changes = unique(all.map(|change| change.id).collect());
    }
    if let Some(first) = steps.first_mut() {
        first.what = format!(
            "(These steps begin at what was built last, the input as it was in {commit}.) {}",
            first.what
        );
    }
    steps
}

/// What there is to order.
struct Rollout<'a> {
    setting: &'a Setting<'a>,
    before: Option<&'a Compilation>,
    after: Option<&'a Compilation>,
    changes: &'a [Change],
}

impl Rollout<'_> {
    /// The steps in their order: what runs is brought what it needs before anything that it leaves is taken away.
    fn ordered(&self) -> Vec<Step> {
        let mut ahead: Vec<Step> = self.conditions().into_iter().collect();
        ahead.extend(self.versions());
        ahead.extend(self.old_tool_leaves());
        ahead.extend(self.beside());
        ahead.extend(self.stays_at_first());
        let (freed, back) = self.drained();
        let before_push = self.before_push();
        let hosts = self.hosts_prepared();
        let cloud = self.in_the_cloud();
        let begins = self.new_tool_begins();
        let left = self.left();
        let late = self.keeps_running_pods_out();
        let (driver, fixed, followers) = (self.driver_first(), self.fixed(), self.followers());
        let takes_order = !(ahead.is_empty()
            && freed.is_empty()
            && before_push.is_empty()
            && hosts.is_empty()
            && left.is_empty())
            || late
            || self.renamed().is_some()
            || begins.is_some()
            || driver.is_some()
            || fixed.is_some()
            || followers.is_some()
            || cloud.as_ref().is_some_and(|(_, is_needed)| *is_needed);
        if !takes_order {
            return Vec::new();
        }
        let cloud = cloud.map(|(step, _)| step);
        let mut all = ahead;
        let by_commit = self.is_by_commit();
        all.extend(before_push);
        if by_commit {
            all.extend(freed.clone());
        }
        all.push(self.built());
        if !by_commit {
            all.extend(freed);
        }
        all.extend(hosts);
        let (early, late) = if late { (None, cloud) } else { (cloud, None) };
        all.extend(early);
        all.extend(driver);
        all.extend(fixed);
        all.extend(begins.unwrap_or_else(|| self.brought()));
        all.extend(late);
        all.push(Self::verified());
        all.extend(back);
        all.extend(followers);
        all.extend(left);
        all
    }

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
        let about = left::about_pool;
        let steps = stuck.map(|name| Step {
            what: format!(
                "Pool {name} cannot be changed as it is. In gpu-cluster.yaml leave it as it was and add a pool beside \
                 it, under another name, as it shall be"
            ),
            commands: Vec::new(),
            changes: ids(&about(&replaced, &name)),
        });
        let others = replaced.iter().filter(|change| {
            change.kind != "pool" && !self.goes_back(change) && !self.is_of_cluster(change)
        });
        let others: Vec<&Change> = others.copied().collect();
        let cannot = (!others.is_empty()).then(|| Step {
            what: "What the cluster itself cannot change stops every script: take that back, or make another cluster \
                   of another name and move to it"
                .to_owned(),
            commands: Vec::new(),
            changes: ids(&others),
        });
        steps.chain(cannot).collect()
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

    /// Pools whose GPUs must be free for a moment: how they are freed, and how pods come back.
    fn drained(&self) -> (Vec<Step>, Vec<Step>) {
        let drained = self.of(&[Impact::SlicesRecut, Impact::DriverRestarted]);
        let when = if self.is_by_commit() {
            format!(
                ", before the change is pushed, because {} brings it then",
                self.setting.after.tool
            )
        } else {
            String::new()
        };
        let step = |what: String, commands| Step {
            what,
            commands,
            changes: ids(&drained),
        };
        let both = pools(&drained, false).into_iter().map(|name| {
            let nodes = shell::quote(&format!("{POOL_LABEL}={name}"));
            (
                step(
                    format!(
                        "Free the GPUs of pool {name}{when}. Where jobs cannot all leave at once, take one node after \
                         the other"
                    ),
                    self.drain(&nodes),
                ),
                step(
                    format!("Let pods back onto pool {name}, when its nodes offer what they should"),
                    vec![format!("{} uncordon -l {nodes}", self.kubectl())],
                ),
            )
        });
        both.unzip()
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

/// Each number once, in order.
fn unique(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids.dedup();
    ids
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
