//! What the scripts of the cloud do that they did not do before.

use std::collections::{BTreeMap, BTreeSet};

use super::super::impact::Impact;
use super::super::shown::{Change, ClusterFate, Step};
use super::left::Handed;
use super::{Rollout, ids, unique};
use crate::compile::Compilation;
use crate::emit::emit;
use crate::tree::Tree;

/// The folder of the scripts.
const FOLDER: &str = "cloud/";

/// Which scripts do something else than before.
struct Acts {
    /// Files that say something else, whatever the input is called.
    changed: BTreeSet<String>,
    /// What the scripts say now.
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
                return Some(self::texts(tree));
            }
            // What names the input, in headers and messages, is no deed.
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

    /// Whether a file is a script that does something else, by what it says or by what it reads.
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

/// The scripts that are run for the cloud and what they read, by their paths. A host's script is run on the host.
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
    /// What scripts do: new pools, and nodes that are made again; and whether that alone takes an order.
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
            let handed_back = || {
                let handed = change.names.iter().filter_map(|name| self.handed(name));
                handed.into_iter().any(|it| matches!(it, Handed::From(_)))
            };
            let is_beside = || change.impact == Impact::Replaced && self.is_made(change);
            change.fate == ClusterFate::Added
                || (change.kind == "pool" && (handed_back() || is_beside()))
        };
        let new: Vec<&Change> = scripted.iter().filter(is_new).copied().collect();
        if scripted.is_empty() && raised.is_empty() {
            return None;
        }
        let (what, flag) = if !rolled.is_empty() {
            (
                "Let the cloud drain nodes and make them again, when jobs may be interrupted",
                " --allow-disruption",
            )
        } else if self.keeps_running_pods_out() {
            ("Let the nodes have their taints", "")
        } else if new.is_empty() && raised.is_empty() {
            (
                "Let the scripts bring what they make to what it shall be",
                "",
            )
        } else if self.setting.before.own_hosts {
            ("Bring new hosts in, and see that their nodes are ready", "")
        } else {
            (
                "Make what is new in the cloud, and see that its nodes are ready",
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
}
