//! A difference as it is shown: plain data, the same for every format.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::impact::Impact;

/// What differs in all clusters of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diffs {
    /// The version of this format.
    pub version: u32,
    /// What the clusters are compared with: a revision of git or a folder.
    pub base: String,
    /// The worst that happens anywhere; nothing where nothing differs.
    pub worst: Option<Impact>,
    /// The clusters, worst first: those that are gone before those that are new, and those that do not differ last.
    pub clusters: Vec<Diff>,
}

/// What differs in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The cluster.
    pub cluster: String,
    /// What it was called before, where that is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
    /// The file that it was in, where that is another one, which the lock names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Whether it is new, gone, or there on both sides.
    pub fate: ClusterFate,
    /// The worst that happens to it; nothing where nothing differs.
    pub worst: Option<Impact>,
    /// What the user's edits change, worst first.
    pub changes: Vec<Change>,
    /// What changes because gpuc, a chart or an image moved since the base was built, worst first.
    pub upgrades: Vec<Change>,
    /// Why there are upgrades, a sentence each: `gpuc 0.1.0 → 0.2.0`.
    pub upgraded: Vec<String>,
    /// The cards of each model, where their number changes.
    pub gpus: Vec<Cards>,
    /// The generated files that differ, with their lines.
    pub files: Vec<FileChange>,
    /// The files of the tree on disk that are not what the input builds now, if there is such a tree.
    pub unbuilt: Vec<Unbuilt>,
    /// Pools, how they are shared and for whom, as a flowchart of Mermaid, where that changes. Only for comments.
    #[serde(skip)]
    pub picture: Option<String>,
    /// What to do in which order, where one run of the scripts and one sync are not enough.
    pub rollout: Vec<Step>,
    /// What brings the tree, for the words where there is no order: `Flux`; empty for a script.
    #[serde(skip)]
    pub tool: &'static str,
}

/// A file of the tree that is not what the input builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbuilt {
    /// Its path.
    pub path: String,
    /// Whether somebody edited it by hand, or it was not built since the input changed.
    pub by_hand: bool,
    /// What it differs in, where that is nothing that is brought to a cluster: `only whether it can be run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// Whether a cluster is on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClusterFate {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is on both sides.
    #[default]
    Kept,
}

/// One line of what changes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Its number in the cluster, from 1, by which files name it.
    pub id: usize,
    /// What it does to what runs.
    pub impact: Impact,
    /// What kind of thing changes: `pool`, `Deployment`, `Helm release`.
    pub kind: String,
    /// What changes: several where the same happens to each.
    pub names: Vec<String>,
    /// Whether they come, go or stay.
    pub fate: ClusterFate,
    /// Why it has this impact, in words.
    pub because: Option<String>,
    /// Where that stands.
    pub source: Option<String>,
    /// The nodes it happens on, at the fewest and at the most.
    pub nodes: Option<Range>,
    /// What is different, worst first.
    pub fields: Vec<FieldChange>,
    /// The edits of the input that make it.
    pub causes: Vec<Cause>,
    /// The generated files that say it.
    pub files: Vec<String>,
}

/// A field of what changes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Whose, where several change and not in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Which field.
    pub path: String,
    /// The value before; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Json>,
    /// The value after; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Json>,
    /// What this field alone does.
    pub impact: Impact,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Where that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether the API server refuses the change, so that the object is deleted and made again.
    #[serde(skip)]
    pub(crate) is_fixed: bool,
}

/// An edit of the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The key: `nodePools[train].nodes.max`.
    pub path: String,
    /// The file, the base's where the key is gone; nothing for what nobody wrote.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// Whether the place is in the base, because the key is gone.
    pub in_base: bool,
}

/// A number at the fewest and at the most nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    /// At the fewest.
    pub min: u64,
    /// At the most.
    pub max: u64,
}

/// How many cards of a model there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cards {
    /// The model.
    pub model: String,
    /// How many there were.
    pub before: Range,
    /// How many there will be.
    pub after: Range,
}

/// A generated file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its path in the cluster's folder.
    pub path: String,
    /// Whether it is new, gone or there on both sides.
    pub fate: ClusterFate,
    /// The changes that account for it, by number.
    pub changes: Vec<usize>,
    /// Whether it can be run afterwards, where that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// The lines that differ.
    pub hunks: Vec<Hunk>,
}

/// Lines that stand for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// How many lines of the file before stand in front of it.
    pub after_line: usize,
    /// The lines that leave, each with its line break.
    pub removed: Vec<String>,
    /// The lines that come, each with its line break.
    pub added: Vec<String>,
}

/// Something to do, and to see done before the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What to do, in a sentence.
    pub what: String,
    /// The commands, if it is done by some.
    pub commands: Vec<String>,
    /// The changes that it is about, by number.
    pub changes: Vec<usize>,
}

impl Diffs {
    /// Only what is this bad or worse; nothing where nothing counts as bad.
    #[must_use]
    pub fn as_bad_as(mut self, limit: Option<Impact>) -> Self {
        let is_bad = |impact: Impact| limit.is_some_and(|limit| impact <= limit);
        for diff in &mut self.clusters {
            diff.changes.retain(|change| is_bad(change.impact));
            diff.upgrades.retain(|change| is_bad(change.impact));
        }
        self.clusters.retain(|diff| diff.worst.is_some_and(is_bad));
        self
    }
}

impl Unbuilt {
    /// How it came to be another one.
    pub(super) fn how(&self) -> &str {
        match &self.only {
            Some(only) => only,
            None if self.by_hand => "edited by hand",
            None => "not built",
        }
    }
}

impl Diff {
    /// What to do where there is no order to keep, in words.
    pub(super) fn unordered(&self) -> String {
        let brings = match self.tool {
            "" => "`./install.sh`".to_owned(),
            tool => format!("push, and let {tool} bring it"),
        };
        format!(
            "no order to keep: `{}` and commit; from the cluster's folder in the tree `cloud/apply.sh`; then {brings}",
            super::BUILD
        )
    }

    /// That the tree on disk is not what the input builds, in words, if that is so.
    pub fn unbuilt_words(&self) -> Option<String> {
        let is_quiet = |file: &&Unbuilt| file.only.is_some();
        let quiet: Vec<&Unbuilt> = self.unbuilt.iter().filter(is_quiet).collect();
        let by_hand = self
            .unbuilt
            .iter()
            .filter(|file| file.by_hand && file.only.is_none());
        let by_hand = by_hand.count();
        let stale = self.unbuilt.len() - by_hand - quiet.len();
        let files = |number: usize, what: &str| {
            let plural = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("{number} file{plural} {what}"))
        };
        let counts = [files(by_hand, "edited by hand"), files(stale, "not built")];
        let mut counts: Vec<String> = counts.into_iter().flatten().collect();
        if let [one, more @ ..] = quiet.as_slice() {
            let name = one.path.rsplit(['/', '\\']).next().unwrap_or(&one.path);
            let more = files(more.len(), "more").map(|more| format!(" and {more}"));
            counts.push(format!(
                "{name}{} ({})",
                more.unwrap_or_default(),
                one.how()
            ));
        }
        let touches = if quiet.len() == self.unbuilt.len() {
            "; nothing that runs is touched"
        } else {
            ""
        };
        (!counts.is_empty()).then(|| {
            format!(
                "the tree here is not what this input builds: {}{touches}; run `gpuc build`",
                counts.join(", ")
            )
        })
    }

    /// What it means that no change has an impact.
    pub(super) fn means_nothing(&self) -> &'static str {
        if self.files.is_empty() && self.moved_from.is_none() {
            "nothing differs"
        } else {
            Impact::Nothing.means()
        }
    }

    /// That only files differ of which nothing is brought to a cluster, in words, if that is so.
    pub fn quiet_words(&self) -> Option<String> {
        let is_quiet = self.changes.is_empty() && self.upgrades.is_empty();
        let [first, more @ ..] = self.files.as_slice() else {
            return None;
        };
        is_quiet.then(|| {
            let more = match more.len() {
                0 => " differs".to_owned(),
                number => format!(" and {number} more differ"),
            };
            format!(
                "of the tree only {}{more}: nothing that runs is touched",
                first.path
            )
        })
    }

    /// The files to name of those: all of them, or what was edited by hand.
    pub(super) fn unbuilt_files(&self, all: bool) -> impl Iterator<Item = &Unbuilt> {
        self.unbuilt.iter().filter(move |file| all || file.by_hand)
    }

    /// What happens to a cluster before what happens to another one is read; else they are by name.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        let rank = |diff: &Self| {
            let fate = match diff.fate {
                ClusterFate::Removed => 0,
                ClusterFate::Kept => 1,
                ClusterFate::Added => 2,
            };
            (diff.worst.is_none(), diff.worst, fate)
        };
        let names = || self.cluster.cmp(&other.cluster);
        rank(self).cmp(&rank(other)).then_with(names)
    }

    /// Whether nothing differs, and the tree is what the input builds.
    pub fn is_silent(&self) -> bool {
        self.is_empty() && self.unbuilt.is_empty() && self.moved_from.is_none()
    }

    /// That its file is another one, in words, if that is so.
    pub(super) fn moved_words(&self) -> Option<String> {
        let was = self.moved_from.as_ref()?;
        let alone = if self.is_empty() { " alone" } else { "" };
        Some(format!(
            "its file was {was}: gpuc.lock.json{alone} names the file, and nothing is brought to a cluster by that"
        ))
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.upgrades.is_empty() && self.files.is_empty()
    }
}

impl Range {
    /// The numbers in words: `8` or `8-64`.
    pub fn words(self) -> String {
        if self.min == self.max {
            self.min.to_string()
        } else {
            format!("{}-{}", self.min, self.max)
        }
    }
}
