//! The run of the cloud scripts, and the changes that require it.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::emit::emit;
use gpuc_syntax::tree::Tree;

use super::super::entities::TAINTS;
use super::super::impact::Impact;
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, sorted_unique};
use super::node_provisioners::ProvisionerChange;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The directory of the scripts.
const FOLDER: &str = "cloud/";

/// The step that runs the cloud scripts. It requires an order only if it recreates nodes or upgrades a control plane.
pub(super) fn apply_cloud_scripts(rollout: &Rollout<'_>) -> Vec<Planned> {
    let scripts = ScriptChanges::compare(rollout.before, rollout.after);
    let scripted: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| change.kind != "file" && change.status != Status::Removed)
        .filter(|change| (change.files.iter()).any(|file| scripts.has_changed_actions(file)))
        .collect();
    let upgraded = rollout.upgraded_control_planes();
    if scripted.is_empty() && upgraded.is_empty() {
        return Vec::new();
    }
    let recreates_nodes = scripted.iter().any(|change| {
        change.impact == Impact::NodesRecreated && !rollout.is_automatic_upgrade(change)
    });
    let created: Vec<&Change> = (scripted.iter().copied())
        .filter(|change| rollout.creates_resources(change))
        .collect();
    let what = if recreates_nodes {
        "When jobs may be interrupted, let the cloud drain and recreate nodes"
    } else if rollout.evicts_running_pods() {
        "When jobs may be interrupted, apply the taints: NoExecute evicts pods that do not tolerate it"
    } else if !rollout.setting.moved_hosts().is_empty() {
        "Apply the labels and taints of their pools to the hosts, and check that their nodes are ready"
    } else if created.is_empty() && !upgraded.is_empty() {
        "Upgrade the control plane"
    } else if created.is_empty() {
        "Update the cloud resources"
    } else if rollout.setting.before.has_user_hosts {
        "Add the new hosts, and check that their nodes are ready"
    } else if rollout.all_start_without_nodes(&created) {
        "Create the new cloud resources: the new pools start without nodes"
    } else {
        "Create the new cloud resources, and check that their nodes are ready"
    };
    let flag = if recreates_nodes {
        " --allow-disruption"
    } else {
        ""
    };
    let requires_order = recreates_nodes || !upgraded.is_empty();
    let step = Step {
        instruction: what.to_owned(),
        commands: vec![
            format!("cloud/apply.sh --dry-run{flag}"),
            format!("cloud/apply.sh{flag}"),
        ],
        changes: sorted_unique(change_ids(&[upgraded, scripted].concat())),
    };
    Phase::ApplyCloud.plan_routine([step], requires_order)
}

impl Rollout<'_> {
    /// Whether the cloud scripts run after the deployment instead of before it: running pods must tolerate a new taint
    /// first, the old device plugin must be gone before the cloud's own one runs, or machines are free only after the
    /// push.
    pub(super) fn is_cloud_late(&self) -> bool {
        self.evicts_running_pods()
            || self.cloud_replaces_plugin()
            || !self.pools_created_after_push().is_empty()
    }

    /// Whether scripts add a taint that evicts running pods, unless these tolerate it.
    fn evicts_running_pods(&self) -> bool {
        let evictions = |value: &Option<serde_json::Value>| {
            (value.as_ref()).map_or(0, |value| value.to_string().matches("NoExecute").count())
        };
        self.changes.iter().any(|change| {
            let adds_eviction = change
                .fields
                .iter()
                .any(|field| field.path == TAINTS && evictions(&field.to) > evictions(&field.from));
            change.kind == "pool"
                && change.status == Status::Kept
                && adds_eviction
                && self.has_scripted_nodes(change)
        })
    }

    /// Whether the scripts create new cloud resources for a change.
    fn creates_resources(&self, change: &Change) -> bool {
        let is_returned_to_scripts = || {
            (change.names.iter())
                .filter_map(|name| self.provisioner_change(name))
                .any(|provisioner| matches!(provisioner, ProvisionerChange::From(_)))
        };
        let is_replaced = || change.impact == Impact::Replaced && self.has_scripted_nodes(change);
        change.status == Status::Added
            || (change.kind == "pool" && (is_returned_to_scripts() || is_replaced()))
    }

    /// Whether there are new pools, all with a minimum of 0 nodes.
    fn all_start_without_nodes(&self, created: &[&Change]) -> bool {
        let mut pools = (created.iter())
            .filter(|change| change.kind == "pool")
            .flat_map(|change| &change.names)
            .peekable();
        pools.peek().is_some()
            && pools.all(|pool| {
                let nodes = self.both_pools(pool)[1].and_then(|pool| pool.nodes.get());
                nodes.is_some_and(|nodes| nodes.min == 0)
            })
    }
}

/// The cloud scripts whose text changed, with the files that they read.
struct ScriptChanges {
    /// Paths of files with another text, ignoring the name of the input.
    changed: BTreeSet<String>,
    /// The new texts, by path.
    texts: BTreeMap<String, String>,
}

impl ScriptChanges {
    fn compare(before: Option<&Compilation>, after: Option<&Compilation>) -> Self {
        let new_tree = after.and_then(|after| Some(&after.output.as_ref()?.0));
        let texts = new_tree.map(script_texts).unwrap_or_default();
        let input = new_tree
            .and(after)
            .and_then(|after| after.loaded.file.as_deref());
        let old_texts = before
            .and_then(|before| {
                let (tree, _) = before.output.as_ref()?;
                if before.loaded.file.as_deref() == input {
                    return Some(script_texts(tree));
                }
                // The name of the input in headers and messages is not an action.
                Some(script_texts(&emit(before.plan.as_ref()?, input)))
            })
            .unwrap_or_default();
        let changed = (texts.iter())
            .filter(|(path, text)| old_texts.get(*path) != Some(text))
            .map(|(path, _)| path.clone())
            .collect();
        Self { changed, texts }
    }

    /// Whether a file is a script whose actions changed, in its text or in a file that it reads.
    fn has_changed_actions(&self, file: &str) -> bool {
        let Some(text) = self.texts.get(file) else {
            return false;
        };
        let is_read = |path: &String| {
            let name = path.strip_prefix(FOLDER).unwrap_or(path);
            !is_script(path) && text.contains(name)
        };
        self.changed.contains(file) || self.changed.iter().any(is_read)
    }
}

/// The cloud scripts and the files that they read, by path. Host scripts are excluded because they run on the host.
fn script_texts(tree: &Tree) -> BTreeMap<String, String> {
    tree.files()
        .filter(|(path, _)| path.starts_with(FOLDER) && !path.starts_with("cloud/host-"))
        .map(|(path, file)| (path.to_owned(), file.contents.clone()))
        .collect()
}

fn is_script(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, extension)| extension == "sh")
}
