//! The report of a diff: plain data, the same for every format.

use std::cmp::Ordering;

use gpuc_syntax::diag::render::replace_control_chars;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::impact::Impact;
use super::live::LiveNotes;

/// The differences of all clusters of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diffs {
    /// The version of this format.
    pub version: u32,
    /// The base of the comparison: a git revision or a directory.
    pub base: String,
    /// The worst impact in any cluster; null if nothing differs.
    pub worst: Option<Impact>,
    /// The clusters, worst first: removed clusters before new ones, unchanged clusters last.
    pub clusters: Vec<Diff>,
}

/// The differences of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The name of the cluster.
    pub cluster: String,
    /// The name before the change, if the cluster was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former_name: Option<String>,
    /// The input file before the change, as recorded in the lock, if the file was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Whether the cluster is added, removed or on both sides.
    pub status: Status,
    /// The worst impact; null if nothing differs.
    pub worst: Option<Impact>,
    /// The changes caused by edits of the input, worst first.
    pub changes: Vec<Change>,
    /// The changes caused by another version of gpuc, a chart or an image since the base was built, worst first.
    pub upgrades: Vec<Change>,
    /// The reasons of the upgrades, a sentence each: `gpuc 0.1.0 → 0.2.0`.
    pub upgraded: Vec<String>,
    /// The number of GPUs of each model whose number changes.
    pub gpus: Vec<GpuCountChange>,
    /// The generated files that differ, with their lines.
    pub files: Vec<FileChange>,
    /// The files of the tree on disk that differ from the build of the current input, if there is such a tree.
    pub unbuilt: Vec<Unbuilt>,
    /// Notes about the comparison, if one side is a running cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveNotes>,
    /// A Mermaid flowchart of the pools, their sharing and teams, if these change. Only for comments.
    #[serde(skip)]
    pub picture: Option<String>,
    /// The rollout steps in order, if one run of the scripts and one sync are not enough.
    pub rollout: Vec<Step>,
    /// The folder of the cluster's tree, in which the commands of the steps run: `clusters/ml-prod`.
    pub folder: String,
    /// The GitOps controller that deploys the tree, such as `Flux`; empty for a script.
    #[serde(skip)]
    pub tool: &'static str,
    /// Whether the tree has an `install.sh`.
    #[serde(skip)]
    pub has_install: bool,
    /// Whether the tree has scripts that create or change resources.
    #[serde(skip)]
    pub has_apply: bool,
}

/// A file of the tree that differs from the build of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbuilt {
    /// The path.
    pub path: String,
    /// Whether the file was edited by hand (true) or not rebuilt since the input changed (false).
    pub edited: bool,
    /// The difference, if it does not affect the cluster: `only whether it can be run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
}

/// Whether a cluster or a resource is added, removed or on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// Added by the change.
    Added,
    /// Removed by the change.
    Removed,
    /// On both sides.
    #[default]
    Kept,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The number of the change in the cluster, from 1; files and steps refer to it.
    pub id: usize,
    /// The impact on running workloads.
    pub impact: Impact,
    /// The kind of the changed resource: `pool`, `Deployment`, `Helm release`.
    pub kind: String,
    /// The names of the changed resources: several if the same change applies to each.
    pub names: Vec<String>,
    /// Whether the resources are added, removed or kept.
    pub status: Status,
    /// The reason for the impact.
    pub reason: Option<String>,
    /// The source of the reason.
    pub source: Option<String>,
    /// The number of affected nodes, minimum and maximum.
    pub nodes: Option<Range>,
    /// The changed fields, worst first.
    pub fields: Vec<FieldChange>,
    /// The edits of the input that cause the change.
    pub causes: Vec<Cause>,
    /// The generated files that contain the change.
    pub files: Vec<String>,
}

/// A changed field.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// The name of the resource, if several resources change differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The path of the field.
    pub path: String,
    /// The value before; absent if the field was not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Json>,
    /// The value after; absent if the field is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Json>,
    /// The impact of this field alone.
    pub impact: Impact,
    /// The reason for the impact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The source of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether the field is immutable, so that the object must be deleted and recreated.
    #[serde(skip)]
    pub(crate) is_fixed: bool,
}

/// An edit of the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The key: `nodePools[train].nodes.max`.
    pub path: String,
    /// The file, in the base if the key was removed; null for a value that no file sets.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// Whether the location is in the base, because the key was removed.
    pub in_base: bool,
}

/// A minimum and a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    /// The number at the minimum number of nodes.
    pub min: u64,
    /// The number at the maximum number of nodes.
    pub max: u64,
}

/// The number of GPUs of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuCountChange {
    /// The GPU model.
    pub model: String,
    /// The number before the change.
    pub before: Range,
    /// The number after the change.
    pub after: Range,
}

/// A generated file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The path in the cluster's directory.
    pub path: String,
    /// Whether the file is added, removed or on both sides.
    pub status: Status,
    /// The numbers of the changes that explain it.
    pub changes: Vec<usize>,
    /// Whether the file is executable after the change, if that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// The lines that differ.
    pub hunks: Vec<Hunk>,
}

/// A group of replaced lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// The number of lines of the old file before the hunk.
    pub after_line: usize,
    /// The removed lines, each with its line break.
    pub removed: Vec<String>,
    /// The added lines, each with its line break.
    pub added: Vec<String>,
}

/// A step to complete before the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The instruction.
    pub instruction: String,
    /// The commands to run, if any.
    pub commands: Vec<String>,
    /// The numbers of the changes that the step belongs to.
    pub changes: Vec<usize>,
}

impl Diffs {
    /// Keeps only changes with this impact or a worse one; nothing without a limit.
    #[must_use]
    pub fn at_least(mut self, limit: Option<Impact>) -> Self {
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
    /// Describes how the file came to differ.
    pub(super) fn cause_text(&self) -> &str {
        match &self.difference {
            Some(only) => only,
            None if self.edited => "edited by hand",
            None => "not built",
        }
    }
}

impl Diff {
    /// Instructions for a change that needs no particular order.
    pub(super) fn no_order_text(&self) -> String {
        let deploy = match self.tool {
            "" if self.has_install => Some("run `./install.sh`".to_owned()),
            "" => None,
            tool => Some(format!("push and let {tool} sync it")),
        };
        let build = format!("Run `{}` and commit", super::rollout::BUILD);
        let apply = format!("run `cloud/apply.sh` in {}", self.folder_text());
        match (deploy, self.has_apply) {
            (Some(deploy), true) => format!("{build}, {apply}, then {deploy}"),
            (None, true) => format!("{build}, then {apply}"),
            (Some(deploy), false) => format!("{build}, then {deploy} in {}", self.folder_text()),
            (None, false) => build,
        }
    }

    /// The folder of the cluster's tree, for instructions.
    pub(super) fn folder_text(&self) -> String {
        if self.folder.is_empty() {
            "the cluster's folder in the tree".to_owned()
        } else {
            format!("`{}`", replace_control_chars(&self.folder))
        }
    }

    /// Describes the differences between the tree on disk and the build of the input, if any.
    pub fn unbuilt_summary(&self) -> Option<String> {
        let is_quiet = |file: &&Unbuilt| file.difference.is_some();
        let quiet: Vec<&Unbuilt> = self.unbuilt.iter().filter(is_quiet).collect();
        let by_hand = self
            .unbuilt
            .iter()
            .filter(|file| file.edited && file.difference.is_none());
        let by_hand = by_hand.count();
        let stale = self.unbuilt.len() - by_hand - quiet.len();
        let files = |number: usize, condition: &str| {
            let plural = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("{number} file{plural} {condition}"))
        };
        let counts = [files(by_hand, "edited by hand"), files(stale, "not built")];
        let mut counts: Vec<String> = counts.into_iter().flatten().collect();
        if let [one, more @ ..] = quiet.as_slice() {
            let name = one.path.rsplit(['/', '\\']).next().unwrap_or(&one.path);
            let more = files(more.len(), "more").map(|more| format!(" and {more}"));
            counts.push(format!(
                "{name}{} ({})",
                more.unwrap_or_default(),
                one.cause_text()
            ));
        }
        let touches = if quiet.len() == self.unbuilt.len() {
            "; running workloads unaffected"
        } else {
            ""
        };
        (!counts.is_empty()).then(|| {
            format!(
                "the tree on disk does not match this input: {}{touches}; run `gpuc build`",
                counts.join(", ")
            )
        })
    }

    /// The heading if no change has an impact.
    pub(super) fn no_impact_heading(&self) -> &'static str {
        if self.files.is_empty() && self.moved_from.is_none() {
            "nothing differs"
        } else {
            Impact::Nothing.description()
        }
    }

    /// Describes the differing files if none of them affects the cluster.
    pub fn files_only_summary(&self) -> Option<String> {
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
                "in the tree only {}{more}: running workloads unaffected",
                first.path
            )
        })
    }

    /// The files to list: all of them, or those edited by hand.
    pub(super) fn unbuilt_files(&self, all: bool) -> impl Iterator<Item = &Unbuilt> {
        self.unbuilt.iter().filter(move |file| all || file.edited)
    }

    /// Orders clusters by impact, worst first, and then by name.
    pub fn cmp_worst_first(&self, other: &Self) -> Ordering {
        let rank = |diff: &Self| {
            let rank = match diff.status {
                Status::Removed => 0,
                Status::Kept => 1,
                Status::Added => 2,
            };
            (diff.worst.is_none(), diff.worst, rank)
        };
        let names = || self.cluster.cmp(&other.cluster);
        rank(self).cmp(&rank(other)).then_with(names)
    }

    /// Whether nothing differs and the tree matches the input.
    pub fn is_unchanged_and_built(&self) -> bool {
        self.is_empty()
            && self.unbuilt.is_empty()
            && self.moved_from.is_none()
            && !self.has_live_notes()
    }

    /// Describes a renamed or moved input file, if any.
    pub(super) fn moved_summary(&self) -> Option<String> {
        let was = self.moved_from.as_ref()?;
        let only = if self.is_empty() { "only " } else { "" };
        Some(format!(
            "the input file was {was}: {only}gpuc.lock.json records its path, and the cluster is unaffected"
        ))
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.upgrades.is_empty() && self.files.is_empty()
    }

    /// Whether there are notes about a comparison with a running cluster.
    fn has_live_notes(&self) -> bool {
        self.live.as_ref().is_some_and(|notes| !notes.is_empty())
    }
}

impl Range {
    /// Formats the range: `8` or `8-64`.
    pub fn to_text(self) -> String {
        if self.min == self.max {
            self.min.to_string()
        } else {
            format!("{}-{}", self.min, self.max)
        }
    }
}
