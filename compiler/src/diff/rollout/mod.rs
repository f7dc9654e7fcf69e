//! What to do in which order, where one run of the scripts and one sync are not enough.

mod anew;
mod brought;
mod claims;
mod cloud;
mod data;
mod elsewhere;
mod fewer;
mod fresh;
mod gitops;
mod gpus;
mod hosts;
mod left;
mod makers;
mod named;
mod plugins;
mod queues;
mod room;
mod servers;
mod spaces;
mod taints;
mod twice;
mod uninstall;
mod versions;

pub use brought::BUILD;
pub use fresh::TEARDOWN;

use std::collections::BTreeSet;

use super::impact::Impact;
use super::judge::Setting;
use super::parts::Key;
use super::shown::{Change, ClusterFate, Step};
use crate::compile::Compilation;
use crate::model::POOL_LABEL;
use crate::plan::{Command, Word};
use crate::shell;
use crate::source::Sources;

/// Kinds that are called as those of other groups.
const AMBIGUOUS: &[&str] = &["Network"];

/// The steps; none where a run of the scripts and a sync do it. Commands are run from the cluster's folder in the tree.
pub(super) fn rollout(
    setting: &Setting<'_>,
    (before, after): (Option<&Compilation>, Option<&Compilation>),
    changes: &[Change],
    sources: &Sources,
) -> Vec<Step> {
    if after.is_none() {
        return fresh::gone(changes);
    }
    let plan = Rollout {
        setting,
        before,
        after,
        changes,
        sources,
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
    /// Where things stand in the input.
    sources: &'a Sources,
}

impl Rollout<'_> {
    /// The steps in their order: what runs is brought what it needs before anything that it leaves is taken away.
    fn ordered(&self) -> Vec<Step> {
        let ahead = self.ahead();
        let (freed, back) = self.emptied();
        let mut anew = self.anew();
        let mut ends: Vec<Step> = self.queues_end().into_iter().collect();
        ends.extend(self.saved());
        if self.spaces_end_by_push() {
            ends.extend(self.spaces_emptied());
        }
        let (before_push, room) = (self.before_push(), self.room(false));
        let hosts = self.hosts_prepared();
        let cloud = self.in_the_cloud();
        let begins = self.new_tool_begins();
        let left = self.left();
        let late = self.keeps_running_pods_out()
            || self.cloud_takes_over()
            || !self.made_after_push().is_empty();
        let swapped = self.old_plugin_leaves();
        let mut served: Vec<Step> = self.driver_awaited().into_iter().collect();
        served.extend(self.claims_end());
        served.extend(self.network_driver_leaves());
        served.extend(self.registers_again());
        let followers = self.followers();
        let [off, on] = [self.taken_off_by_hand(), self.put_on_by_hand()];
        let drift = self.drift();
        let steps = [
            &ahead,
            &ends,
            &freed,
            &before_push,
            &room,
            &hosts,
            &left,
            &swapped,
            &served,
            &off,
            &on,
        ];
        let takes_order = steps.iter().any(|steps| !steps.is_empty())
            || self.before.is_none()
            || late
            || self.loses_taints()
            || !self.workloads_moved().is_empty()
            || self.renamed().is_some()
            || begins.is_some()
            || !anew.is_empty()
            || drift.is_some()
            || followers.is_some()
            || cloud.as_ref().is_some_and(|(_, is_needed)| *is_needed);
        if !takes_order {
            return Vec::new();
        }
        let cloud = cloud.map(|(step, _)| step);
        let by_commit = self.is_by_commit();
        let mut all = ahead;
        all.extend(before_push);
        // What runs on nodes that go leaves before them, and a tool that still has it makes it again.
        let ended = self.ended();
        let again = ended.as_ref().filter(|_| !by_commit);
        let deleted = anew.deleted.into_iter();
        anew.deleted = deleted
            .filter_map(|step| fewer::without(step, again))
            .collect();
        let leaving: Vec<Step> = self.workloads_leave().into_iter().chain(ended).collect();
        // Where a commit is the delivery, all that must end does so before it.
        let mut ends = [ends, anew.before, leaving, freed].concat();
        if by_commit {
            all.append(&mut ends);
        }
        all.push(self.built());
        all.append(&mut ends);
        all.extend(room);
        all.extend(hosts);
        let (early, late) = if late { (None, cloud) } else { (cloud, None) };
        all.extend(early);
        all.extend(self.queues_left_early());
        all.extend(self.runs_twice());
        all.extend(swapped);
        all.extend(self.emptied_for_push().into_iter().chain(off));
        let (before, after) = drift.unzip();
        all.extend(before);
        all.extend(self.delivered(begins, anew.deleted));
        all.extend(anew.after);
        all.extend(self.gone_by_push());
        all.extend(late);
        all.extend(served);
        all.extend(self.serves_twice());
        all.push(Self::verified());
        let stuck = self.stuck_in_drift();
        all.extend(back.into_iter().chain(on).chain(stuck).chain(after));
        all.extend(followers);
        all.extend(self.names_move());
        all.extend(self.old_taints());
        all.extend(left);
        self.with_servers(all)
    }

    /// What is said and mended before anything is built.
    fn ahead(&self) -> Vec<Step> {
        let mut ahead: Vec<Step> = self.conditions().into_iter().collect();
        ahead.extend(self.smaller_claims());
        ahead.extend(self.room(true));
        ahead.extend(self.versions());
        ahead.extend(self.old_tool_leaves());
        ahead.extend(self.beside());
        ahead.extend(self.both_taints());
        ahead.extend(self.stays_at_first());
        ahead.extend(self.spaces_stay_at_first());
        ahead.extend(self.begins_empty());
        ahead.extend(self.finds_no_machine());
        ahead
    }

    /// What comes into the cluster, and what is deleted for it.
    fn delivered(&self, begins: Option<Vec<Step>>, mut deleted: Vec<Step>) -> Vec<Step> {
        match begins {
            Some(begins) => deleted.extend(begins),
            // A tool stops at what it cannot change, and what is deleted before would be brought again as it was.
            None if self.is_by_commit() && !deleted.is_empty() => {
                deleted.insert(0, self.pushed());
                deleted.extend(self.awaited());
            }
            None => deleted.extend(self.brought()),
        }
        deleted
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
        let stuck =
            stuck.filter(|name| self.handed(name).is_none() && self.way(name) != room::Way::First);
        let about = left::about_pool;
        let steps = stuck.map(|name| Step {
            what: self.rewritten(&name),
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

    /// All that is emptied, and how pods come back.
    fn emptied(&self) -> (Vec<Step>, Vec<Step>) {
        let all = [self.drained(), self.fewer(), self.moved_hosts()];
        let (freed, back): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        (freed.concat(), back.concat())
    }

    /// That it is to be done before a push, where a push is what brings the change.
    fn when(&self) -> String {
        if self.is_by_commit() {
            format!(
                ", before the change is pushed, because {} brings it then",
                self.setting.after.tool
            )
        } else {
            String::new()
        }
    }

    /// The labels that pick a pool's nodes as they are: those that others made have labels of their own.
    pub(super) fn labels(&self, name: &str) -> String {
        let [old, new] = self.both(name);
        let labels = old.or(new).map(|pool| pool.selector.as_slice());
        let labels = labels.unwrap_or_default().iter();
        let labels: Vec<String> = labels
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        if labels.is_empty() {
            format!("{POOL_LABEL}={name}")
        } else {
            labels.join(",")
        }
    }

    /// The commands that empty a pool's nodes as they are.
    fn drain_pool(&self, name: &str) -> Vec<String> {
        self.drain(&shell::quote(&self.labels(name)))
    }

    /// The commands that empty nodes, by a selector.
    fn drain(&self, nodes: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        vec![
            format!("{kubectl} cordon -l {nodes}"),
            format!("{kubectl} drain -l {nodes} --ignore-daemonsets --delete-emptydir-data"),
        ]
    }

    /// A kind as it is typed: with its group, where other groups have kinds of that name.
    fn typed(&self, kind: &str, name: &str) -> String {
        let plain = kind.to_lowercase();
        if !AMBIGUOUS.contains(&kind) {
            return plain;
        }
        let mut keys = self
            .setting
            .before
            .all
            .keys()
            .chain(self.setting.after.all.keys());
        let group = keys.find_map(|key| match key {
            Key::Object { group, .. } if key.kind() == kind && key.name() == name => Some(group),
            _ => None,
        });
        match group.filter(|group| !group.is_empty()) {
            Some(group) => format!("{plain}s.{group}"),
            None => plain,
        }
    }

    /// Whether another object points at one, which stays for as long as that does.
    ///
    /// Source: kubernetes/cloud-provider-gcp `pkg/controller/gkenetworkparamset/gkenetworkparamset_controller.go`
    /// (`GNPFinalizer`, while a network has it in `spec.parametersRef`), read 2026-11-22.
    fn is_pointed_at(&self, change: &Change) -> bool {
        let points = |name: &String| {
            let mut parts = self.setting.before.all.values();
            parts.any(|part| {
                let is = |path: &str, value: &str| {
                    let leaf = part.leaves.get(path);
                    leaf.is_some_and(|leaf| leaf.value == *value)
                };
                is("spec.parametersRef.kind", &change.kind) && is("spec.parametersRef.name", name)
            })
        };
        change.names.iter().any(points)
    }

    /// The command that deletes an object, by its kind and its name with its namespace in front.
    fn removed(&self, kind: &str, name: &str) -> String {
        let kind = shell::quote(&self.typed(kind, name));
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

/// Whether something is an object that the API server does not let anybody change so.
fn is_fixed(change: &Change) -> bool {
    change.fields.iter().any(|field| field.is_fixed)
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
