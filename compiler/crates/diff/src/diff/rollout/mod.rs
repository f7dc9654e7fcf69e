//! The rollout plan: steps in order, if one run of the scripts and one sync are not enough.

mod cleanup;
mod cloud;
mod cluster_lifecycle;
mod data;
mod delivery;
mod elsewhere;
mod gitops;
mod gpus;
mod hosts;
mod namespaces;
mod node_provisioners;
mod notebooks;
mod plugins;
mod queues;
mod recreate;
mod references;
mod renamed_workloads;
mod replacement;
mod scale_down;
mod taints;
mod uninstall;
mod versions;
mod volume_claims;

use gpuc_compile::compile::Compilation;
use gpuc_model::POOL_LABEL;
use gpuc_model::plan::{Command, Word};
use gpuc_syntax::shell;
use gpuc_syntax::source::Sources;

pub use cluster_lifecycle::TEARDOWN;
pub use delivery::BUILD;

use std::collections::BTreeSet;

use super::classify::Setting;
use super::entities::Key;
use super::impact::Impact;
use super::report::{Change, ClusterFate, Step};

/// Kinds whose names also exist in other API groups.
const AMBIGUOUS: &[&str] = &["Network"];

/// The steps; none if a run of the scripts and a sync are enough. Commands run in the cluster's directory in the tree.
pub(super) fn rollout(
    setting: &Setting<'_>,
    (before, after): (Option<&Compilation>, Option<&Compilation>),
    changes: &[Change],
    sources: &Sources,
) -> Vec<Step> {
    if after.is_none() {
        return cluster_lifecycle::gone(changes);
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
    plan.steps()
}

/// Maps steps computed from the last build, which is older than the base, to the numbers of the reported changes.
pub(super) fn rebase_steps(
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
            "(These steps start from the last build, of the input in {commit}.) {}",
            first.what
        );
    }
    steps
}

/// The context of a rollout plan.
struct Rollout<'a> {
    setting: &'a Setting<'a>,
    before: Option<&'a Compilation>,
    after: Option<&'a Compilation>,
    changes: &'a [Change],
    /// The sources of the input.
    sources: &'a Sources,
}

impl Rollout<'_> {
    /// The steps in order: new resources are deployed before old ones are removed.
    fn steps(&self) -> Vec<Step> {
        let preconditions = self.preconditions();
        let (drained, uncordoned) = self.drain_steps();
        let mut recreation = self.recreate();
        let mut stopped: Vec<Step> = self.queues_end().into_iter().collect();
        stopped.extend(self.saved());
        if self.spaces_end_by_push() {
            stopped.extend(self.spaces_emptied());
        }
        let (before_push, room) = (self.before_push(), self.room(false));
        let hosts = self.hosts_prepared();
        let cloud = self.in_the_cloud();
        let hand_over = self.hand_over_delivery();
        let cleanup = self.cleanup();
        let is_cloud_late = self.keeps_running_pods_out()
            || self.cloud_takes_over()
            || !self.made_after_push().is_empty();
        let old_plugins = self.old_plugin_leaves();
        let mut drivers: Vec<Step> = self.driver_awaited().into_iter().collect();
        drivers.extend(self.claims_end());
        drivers.extend(self.network_driver_leaves());
        drivers.extend(self.registers_again());
        let followers = self.followers();
        let taints_removed = self.taken_off_by_hand();
        let taints_added = self.put_on_by_hand();
        let drift = self.drift_steps();
        let steps = [
            &preconditions,
            &stopped,
            &drained,
            &before_push,
            &room,
            &hosts,
            &cleanup,
            &old_plugins,
            &drivers,
            &taints_removed,
            &taints_added,
        ];
        let takes_order = steps.iter().any(|steps| !steps.is_empty())
            || self.before.is_none()
            || is_cloud_late
            || self.loses_taints()
            || !self.workloads_moved().is_empty()
            || self.renamed().is_some()
            || hand_over.is_some()
            || !recreation.is_empty()
            || drift.is_some()
            || followers.is_some()
            || cloud.as_ref().is_some_and(|(_, is_needed)| *is_needed);
        if !takes_order {
            return Vec::new();
        }
        let cloud = cloud.map(|(step, _)| step);
        let by_commit = self.is_by_commit();
        let mut all = preconditions;
        all.extend(before_push);
        // Workloads on removed nodes are deleted before the nodes; a GitOps controller would recreate them.
        let ended = self.ended();
        let already_deleted = ended.as_ref().filter(|_| !by_commit);
        recreation.deleted = (recreation.deleted.into_iter())
            .filter_map(|step| scale_down::without(step, already_deleted))
            .collect();
        let workloads: Vec<Step> = self.workloads_leave().into_iter().chain(ended).collect();
        // If a commit deploys the tree, everything that must stop stops before it.
        let mut stopped = [stopped, recreation.before, workloads, drained].concat();
        if by_commit {
            all.append(&mut stopped);
        }
        all.push(self.build_and_prune());
        all.append(&mut stopped);
        all.extend(room);
        all.extend(hosts);
        let (early_cloud, late_cloud) = if is_cloud_late {
            (None, cloud)
        } else {
            (cloud, None)
        };
        all.extend(early_cloud);
        all.extend(self.queues_left_early());
        all.extend(self.runs_twice());
        all.extend(old_plugins);
        all.extend(self.emptied_for_push());
        all.extend(taints_removed);
        let (drift_start, drift_end) = drift.unzip();
        all.extend(drift_start);
        all.extend(self.delivered(hand_over, recreation.deleted));
        all.extend(recreation.after);
        all.extend(self.gone_by_push());
        all.extend(late_cloud);
        all.extend(drivers);
        all.extend(self.serves_twice());
        all.push(Self::verify());
        all.extend(uncordoned);
        all.extend(taints_added);
        all.extend(self.stuck_in_drift());
        all.extend(drift_end);
        all.extend(followers);
        all.extend(self.names_move());
        all.extend(self.old_taints());
        all.extend(cleanup);
        self.with_servers(all)
    }

    /// The steps before the build: preconditions and corrections of the input.
    fn preconditions(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = self.conditions().into_iter().collect();
        steps.extend(self.smaller_claims());
        steps.extend(self.room(true));
        steps.extend(self.versions());
        steps.extend(self.release_old_controller());
        steps.extend(self.replace_pools());
        steps.extend(self.both_taints());
        steps.extend(self.stays_at_first());
        steps.extend(self.spaces_stay_at_first());
        steps.extend(self.begins_empty());
        steps.extend(self.finds_no_machine());
        steps
    }

    /// The steps that deploy objects, with the deletions that they need.
    fn delivered(&self, hand_over: Option<Vec<Step>>, mut deleted: Vec<Step>) -> Vec<Step> {
        match hand_over {
            Some(steps) => deleted.extend(steps),
            // A GitOps controller stops at immutable fields, and would recreate the old object if it was deleted
            // before.
            None if self.is_by_commit() && !deleted.is_empty() => {
                deleted.insert(0, self.push());
                deleted.extend(self.wait_for_sync());
            }
            None => deleted.extend(self.deploy()),
        }
        deleted
    }

    /// `kubectl`, with the context of the cluster if the file sets one.
    fn kubectl(&self) -> String {
        let context = self.setting.before.context.as_ref();
        match context.or(self.setting.after.context.as_ref()) {
            Some(context) => format!("kubectl --context {}", shell::quote(context)),
            None => "kubectl".to_owned(),
        }
    }

    /// Whether scripts create the nodes of a changed pool.
    fn is_made(&self, change: &Change) -> bool {
        change.names.iter().any(|name| {
            let sides = [self.setting.before, self.setting.after];
            let parts = sides
                .into_iter()
                .filter_map(|side| side.all.get(&Key::Pool(name.clone())));
            parts.clone().any(|part| part.maker.is_none())
        })
    }

    /// The changes with one of these impacts.
    fn with_impact(&self, impacts: &[Impact]) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| impacts.contains(&change.impact))
            .collect()
    }

    /// The steps for pools that the cloud cannot change: another pool is created next to each.
    fn replace_pools(&self) -> Vec<Step> {
        let replaced = self.with_impact(&[Impact::Replaced]);
        let stuck = pools(&replaced, false).into_iter();
        let stuck = stuck.filter(|name| {
            self.provisioner_change(name).is_none()
                && self.replacement_strategy(name) != replacement::ReplacementStrategy::RemoveFirst
        });
        let about = cleanup::about_pool;
        let steps = stuck.map(|name| Step {
            what: self.rewritten(&name),
            commands: Vec::new(),
            changes: ids(&about(&replaced, &name)),
        });
        let others = replaced.iter().filter(|change| {
            change.kind != "pool" && !self.goes_back(change) && !self.is_of_cluster(change)
        });
        let others: Vec<&Change> = others.copied().collect();
        let impossible = (!others.is_empty()).then(|| Step {
            what: "Every script stops at a change that the cluster does not support in place: revert it, or create a \
                   new cluster with another name and move to it"
                .to_owned(),
            commands: Vec::new(),
            changes: ids(&others),
        });
        steps.chain(impossible).collect()
    }

    /// The steps that drain nodes, and those that uncordon them.
    fn drain_steps(&self) -> (Vec<Step>, Vec<Step>) {
        let all = [
            self.temporary_drains(),
            self.shrink_steps(),
            self.moved_hosts(),
        ];
        let (drained, uncordoned): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        (drained.concat(), uncordoned.concat())
    }

    /// The note that a step precedes the push, if a push deploys the change.
    fn when(&self) -> String {
        if self.is_by_commit() {
            format!(
                " before you push the change, because {} then deploys it",
                self.setting.after.tool
            )
        } else {
            String::new()
        }
    }

    /// The labels that select a pool's current nodes: existing nodes have their own labels.
    pub(super) fn labels(&self, name: &str) -> String {
        let [old, new] = self.both(name);
        let selector = old.or(new).map(|pool| pool.selector.as_slice());
        let labels: Vec<String> = (selector.unwrap_or_default().iter())
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        if labels.is_empty() {
            format!("{POOL_LABEL}={name}")
        } else {
            labels.join(",")
        }
    }

    /// The commands that drain a pool's current nodes.
    fn drain_pool(&self, name: &str) -> Vec<String> {
        self.drain(&shell::quote(&self.labels(name)))
    }

    /// The commands that drain nodes, by a selector.
    fn drain(&self, nodes: &str) -> Vec<String> {
        let kubectl = self.kubectl();
        vec![
            format!("{kubectl} cordon -l {nodes}"),
            format!("{kubectl} drain -l {nodes} --ignore-daemonsets --delete-emptydir-data"),
        ]
    }

    /// A kind as typed on the command line: with its group if other groups have a kind of that name.
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

    /// Whether another object refers to an object, which a finalizer keeps until then.
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

    /// The command that deletes an object, by its kind and `namespace/name`.
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

/// Whether an object has a changed immutable field.
fn is_fixed(change: &Change) -> bool {
    change.fields.iter().any(|field| field.is_fixed)
}

/// Sorts numbers and removes duplicates.
fn unique(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn ids(changes: &[&Change]) -> Vec<usize> {
    changes.iter().map(|change| change.id).collect()
}

/// The pools of changes, either removed or kept.
fn pools(changes: &[&Change], are_removed: bool) -> BTreeSet<String> {
    (changes.iter())
        .filter(|change| change.kind == "pool")
        .filter(|change| (change.fate == ClusterFate::Removed) == are_removed)
        .flat_map(|change| change.names.clone())
        .collect()
}

/// A command as typed; `None` if a part of it is known only to the script.
fn text(command: &Command) -> Option<String> {
    let word = |word: &Word| match word {
        Word::Text(text) => Some(shell::quote(text)),
        _ => None,
    };
    let words: Option<Vec<String>> = command.0.iter().map(word).collect();
    Some(words?.join(" "))
}
