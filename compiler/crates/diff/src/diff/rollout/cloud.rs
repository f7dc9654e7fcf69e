//! Changed actions of the cloud scripts.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::emit::emit;
use gpuc_syntax::tree::Tree;

use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, Step};
use super::cleanup::ProvisionerChange;
use super::{Rollout, ids, unique};

/// The directory of the scripts.
const FOLDER: &str = "cloud/";

/// The scripts whose actions changed.
struct Acts {
    /// Files with another text, ignoring the name of the input.
    changed: BTreeSet<String>,
    /// The new texts.
    texts: BTreeMap<String, String>,
}

impl Acts {
    fn of(before: Option<&Compilation>, after: Option<&Compilation>) -> Self {
        let after = after.and_then(|after| Some((after, &after.output.as_ref()?.0)));
        let texts = after.map(|(_, tree)| texts(tree)).unwrap_or_default();
        let file = after.and_then(|(after, _)| after.loaded.file.as_deref());
        let old = before.and_then(|before| {
            let (tree, _) = before.output.as_ref()?;
            if before.loaded.file.as_deref() == file {
                return Some(crate::diff::rollout::cloud::texts(tree));
            }
            // The name of the input in headers and messages is not an action.
            Some(self::texts(&emit(before.plan.as_ref()?, file)))
        });
        let old = old.unwrap_or_default();
        let changed = texts
            .iter()
            .filter(|(path, text)| old.get(*path) != Some(text));
        Self {
            changed: changed.map(|(path, _)| path.clone()).collect(),
            texts,
        }
    }

    /// Whether a file is a script whose actions changed, in its text or in a file that it reads.
    fn otherwise(&self, file: &str) -> bool {
        let Some(text) = self.texts.get(file) else {
            return false;
        };
        let is_read = |other: &String| {
            let name = other.strip_prefix(FOLDER).unwrap_or(other);
            !is_script(other) && text.contains(name)
        };
        self.changed.contains(file) || self.changed.iter().any(is_read)
    }
}

/// The cloud scripts and the files that they read, by path. Host scripts are excluded because they run on the host.
fn texts(tree: &Tree) -> BTreeMap<String, String> {
    let acts = |path: &str| path.starts_with(FOLDER) && !path.starts_with("cloud/host-");
    let files = tree.files().filter(|(path, _)| acts(path));
    files
        .map(|(path, file)| (path.to_owned(), file.contents.clone()))
        .collect()
}

fn is_script(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, ending)| ending == "sh")
}

impl Rollout<'_> {
    /// The step that runs the cloud scripts, and whether it alone requires an ordered plan.
    pub(super) fn in_the_cloud(&self) -> Option<(Step, bool)> {
        let acts = Acts::of(self.before, self.after);
        let is_scripted = |change: &&Change| {
            change.kind != "file"
                && change.fate != ClusterFate::Removed
                && change.files.iter().any(|file| acts.otherwise(file))
        };
        let scripted: Vec<&Change> = self.changes.iter().filter(is_scripted).collect();
        let rolled = scripted
            .iter()
            .filter(|change| change.impact == Impact::NodesRecreated && !self.follows(change));
        let rolled: Vec<&Change> = rolled.copied().collect();
        let raised = self.raised();
        let is_new = |change: &&&Change| {
            let is_handed_back = || {
                let provisioner_change = change
                    .names
                    .iter()
                    .filter_map(|name| self.provisioner_change(name));
                provisioner_change
                    .into_iter()
                    .any(|it| matches!(it, ProvisionerChange::From(_)))
            };
            let is_beside = || change.impact == Impact::Replaced && self.is_made(change);
            change.fate == ClusterFate::Added
                || (change.kind == "pool" && (is_handed_back() || is_beside()))
        };
        let new: Vec<&Change> = scripted.iter().filter(is_new).copied().collect();
        if scripted.is_empty() && raised.is_empty() {
            return None;
        }
        let (what, flag) = if !rolled.is_empty() {
            (
                "When jobs may be interrupted, let the cloud drain and recreate nodes",
                " --allow-disruption",
            )
        } else if self.keeps_running_pods_out() {
            (
                "When jobs may be interrupted, apply the taints: NoExecute evicts pods that do not tolerate it",
                "",
            )
        } else if !self.setting.moved().is_empty() {
            (
                "Apply the labels and taints of their pools to the hosts, and check that their nodes are ready",
                "",
            )
        } else if new.is_empty() && !raised.is_empty() {
            ("Upgrade the control plane", "")
        } else if new.is_empty() {
            ("Update the cloud resources", "")
        } else if self.setting.before.own_hosts {
            (
                "Add the new hosts, and check that their nodes are ready",
                "",
            )
        } else if self.begin_empty(&new) {
            (
                "Create the new cloud resources: the new pools start without nodes",
                "",
            )
        } else {
            (
                "Create the new cloud resources, and check that their nodes are ready",
                "",
            )
        };
        let step = Step {
            what: what.to_owned(),
            commands: vec![
                format!("cloud/apply.sh --dry-run{flag}"),
                format!("cloud/apply.sh{flag}"),
            ],
            changes: unique(ids(&[raised.clone(), scripted].concat())),
        };
        Some((step, !rolled.is_empty() || !raised.is_empty()))
    }

    /// Whether there are new pools, all with a minimum of 0 nodes.
    fn begin_empty(&self, new: &[&Change]) -> bool {
        let pools = new.iter().filter(|change| change.kind == "pool");
        let mut names = pools.flat_map(|change| &change.names).peekable();
        names.peek().is_some()
            && names.all(|name| {
                let nodes = self.both(name)[1].and_then(|pool| pool.nodes.get());
                nodes.is_some_and(|nodes| nodes.min == 0)
            })
    }
}
