//! Impact of an input change on a running cluster: compares two compilations and reports changes for a reviewer.
//!
//! ```text
//! two Compilations ─parts→ fields by entity ─deltas→ differences ─causes→ edits ─judge→ impact ─lines→ Diff
//! ```

mod causes;
mod changes;
mod classify;
mod edits;
mod entities;
mod facts;
mod fields;
mod files;
mod grouping;
mod impact;
mod live;
mod location;
pub mod render;
mod report;
mod rollout;
mod upgrade;

use gpuc_compile::compile::{Compilation, Options};
use gpuc_compile::emit::{has_apply, has_install};
use gpuc_syntax::source::Sources;

pub use causes::ClusterSides;
pub use classify::is_known;
pub use files::apply_hunks;
pub use impact::Impact;
pub use live::{
    Answer, CloudNotes, CloudResult, FieldConflict, GENERATED_KINDS, InstalledRelease, LiveNotes,
    LiveState, MissingKind, NotCompared, RejectedObject, Unpredicted, desired_objects, diff_live,
    find_other_cluster,
};
pub use report::{
    Cause, Change, Diff, Diffs, FieldChange, FileChange, GpuCountChange, Hunk, Range, Status, Step,
    Unbuilt,
};
pub use rollout::{BUILD, TEARDOWN};
pub use upgrade::Committed;

use std::collections::BTreeSet;

use crate::graph::cluster_mermaid;
use classify::DiffContext;
use entities::Entities;

/// The version of the JSON format.
pub const VERSION: u32 = 1;

/// The two states of a cluster to compare.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The state before the change; `None` for a new cluster.
    pub before: Option<&'a Compilation>,
    /// The state after the change; `None` for a removed cluster.
    pub after: Option<&'a Compilation>,
    /// The tree committed in the base, if known.
    pub committed: Option<&'a Committed>,
    /// The path of the lock file with the selected machines, if both sides have one.
    pub lock: Option<&'a str>,
}

/// The cause of all changes if the cluster is new or removed.
fn whole_cluster_cause(pair: &Pair<'_>, sources: &Sources) -> Option<Cause> {
    match (pair.before, pair.after) {
        (Some(old), None) => grouping::cluster_cause(old, true, sources),
        (None, Some(new)) => grouping::cluster_cause(new, false, sources),
        _ => None,
    }
}

/// The edits of the input, and the numbers of the edits that cause each difference.
fn edits_with_causes(
    pair: &Pair<'_>,
    options: &Options<'_>,
    entities: (&Entities, &Entities),
    found: &[changes::Delta],
) -> (Vec<edits::Edit>, Vec<Vec<usize>>) {
    match (pair.before, pair.after) {
        (Some(old), Some(new)) => {
            let mut edits = edits::edits(&old.loaded, &new.loaded);
            let sides = ClusterSides {
                before: old,
                after: new,
                options,
            };
            if pair.lock.is_some() {
                edits.extend(causes::edited_selections(&sides));
            }
            let causes = causes::attribute_causes(&sides, &edits, entities, found);
            (edits, causes)
        }
        // All of it is added or removed with the cluster.
        _ => (Vec::new(), vec![vec![0]; found.len()]),
    }
}

/// Compares two states of a cluster; `None` if one of them has errors.
pub fn diff(pair: Pair<'_>, options: &Options<'_>, sources: &Sources) -> Option<Diff> {
    let (before, after) = entities_of_pair(&pair)?;
    let setting = DiffContext {
        before: &before,
        after: &after,
        prunes_removed: match (pair.before, pair.after) {
            // A GitOps controller prunes only what it deployed itself.
            (Some(_), Some(_)) => !before.controller.is_empty() && before.is_deployed_like(&after),
            _ => !before.controller.is_empty() || !after.controller.is_empty(),
        },
        lacks_input: false,
    };
    let found = changes::find_deltas(&before, &after);
    let (edits, causes) = edits_with_causes(&pair, options, (&before, &after), &found);
    let shown: Vec<Cause> = whole_cluster_cause(&pair, sources)
        .into_iter()
        .chain(grouping::edit_causes(&edits, sources, pair.lock))
        .collect();
    let mut changes = grouping::group_changes(&setting, &found, &causes, &shown, 1);
    if let Some(name) = edits.iter().position(edits::Edit::is_file_rename) {
        grouping::explain_headers(&mut changes, &shown[name]);
    }
    let upgraded = match (pair.committed, pair.before) {
        (Some(committed), Some(before)) => {
            upgrade::find_upgrade(committed, before, changes.len() + 1)
        }
        _ => upgrade::Upgrade::default(),
    };
    // The caller that writes the tree sets the path of the input.
    let from = pair
        .committed
        .and_then(|committed| committed.lock.from.clone());
    let lock = |side: Option<&Compilation>| {
        let mut lock = side?.output.as_ref()?.1.clone();
        lock.from.clone_from(&from);
        Some(lock.to_json())
    };
    let locks = [pair.before, pair.after].map(lock);
    let trees = [pair.before, pair.after].map(|side| Some(&side?.output.as_ref()?.0));
    let all: Vec<Change> = changes.iter().chain(&upgraded.changes).cloned().collect();
    let was = match pair.committed {
        Some(committed) => committed.contents(),
        None => files::tree_contents(trees[0], locks[0].as_deref()),
    };
    let is = files::tree_contents(trees[1], locks[1].as_deref());
    let rollout = if let Some((tree, built)) = committed_input(&pair) {
        // The running state is the last build, even if the input changed since.
        let was = Entities::from_compilation(built)?;
        let setting = DiffContext {
            before: &was,
            after: &after,
            prunes_removed: !was.controller.is_empty() && was.is_deployed_like(&after),
            lacks_input: false,
        };
        let found = changes::find_deltas(&was, &after);
        let no_causes = vec![Vec::new(); found.len()];
        let since = grouping::group_changes(&setting, &found, &no_causes, &[], 1);
        let steps = rollout::plan_steps(&rollout::Rollout {
            setting: &setting,
            before: Some(built),
            after: pair.after,
            changes: &since,
            sources,
        });
        rollout::rebase_steps(steps, tree, &since, &all)
    } else {
        let disruptive = upgraded
            .changes
            .iter()
            .filter(|change| change.impact.is_disruptive() && change.status == Status::Kept);
        let both: Vec<Change> = changes.iter().chain(disruptive).cloned().collect();
        rollout::plan_steps(&rollout::Rollout {
            setting: &setting,
            before: pair.before,
            after: pair.after,
            changes: &both,
            sources,
        })
    };
    Some(Diff {
        cluster: cluster_name(pair.after.or(pair.before)).unwrap_or_default(),
        former_name: (cluster_name(pair.before).zip(cluster_name(pair.after)))
            .and_then(|(old, new)| (old != new).then_some(old)),
        status: match (pair.before, pair.after) {
            (None, _) => Status::Added,
            (_, None) => Status::Removed,
            _ => Status::Kept,
        },
        worst: all.iter().map(|change| change.impact).min(),
        files: files::changed_files(&was, &is, &all),
        gpus: gpu_changes(&before, &after),
        changes,
        upgrades: upgraded.changes,
        upgraded: upgraded.reasons,
        rollout,
        // The caller that reads the disk sets these.
        moved_from: None,
        unbuilt: Vec::new(),
        live: None,
        folder: String::new(),
        picture: flowchart(pair.after, &all),
        tool: after.controller,
        has_apply: (pair.after.and_then(|after| after.plan.as_ref())).is_some_and(has_apply),
        has_install: (pair.after.and_then(|after| after.plan.as_ref())).is_some_and(has_install),
    })
}

/// The entities of both sides; a compilation on both sides is processed once.
fn entities_of_pair(pair: &Pair<'_>) -> Option<(Entities, Entities)> {
    let entities_of_side = |side: Option<&Compilation>| match side {
        Some(side) => Entities::from_compilation(side),
        None => Some(Entities::default()),
    };
    let before = entities_of_side(pair.before)?;
    let is_same = |(old, new): (&Compilation, &Compilation)| std::ptr::eq(old, new);
    let after = if pair.before.zip(pair.after).is_some_and(is_same) {
        before.clone()
    } else {
        entities_of_side(pair.after)?
    };
    Some((before, after))
}

fn cluster_name(side: Option<&Compilation>) -> Option<String> {
    let config = side?.config.as_ref();
    config.map(|config| config.metadata.name.value.clone())
}

/// The commit and the input that the committed tree was built from, if the base's input differs.
fn committed_input<'a>(pair: &Pair<'a>) -> Option<(&'a str, &'a Compilation)> {
    pair.before.and(pair.after)?;
    let (commit, built) = pair.committed?.built_from.as_ref()?;
    built.plan.as_ref()?;
    Some((commit.as_str(), built))
}

/// The maximum length of a flowchart, in characters.
const MAX_FLOWCHART_LENGTH: usize = 8_000;

/// A flowchart of the cluster after the change, if its pools or quotas change.
fn flowchart(after: Option<&Compilation>, changes: &[Change]) -> Option<String> {
    let shows = |change: &Change| {
        change.kind == "pool" || matches!(change.impact, Impact::QuotaCut | Impact::QuotaRaised)
    };
    if !changes.iter().any(shows) {
        return None;
    }
    let after = after?;
    let (cluster, plan) = (after.cluster.as_ref()?, after.plan.as_ref()?);
    Some(cluster_mermaid(
        cluster,
        &plan.summary,
        MAX_FLOWCHART_LENGTH,
    ))
}

/// The GPU models whose number of GPUs changes.
fn gpu_changes(before: &Entities, after: &Entities) -> Vec<GpuCountChange> {
    let models: BTreeSet<&String> = before.gpus.keys().chain(after.gpus.keys()).collect();
    let count = |entities: &Entities, model: &String| {
        let (min, max) = entities.gpus.get(model).copied().unwrap_or_default();
        Range { min, max }
    };
    let cards = models.into_iter().map(|model| GpuCountChange {
        model: model.clone(),
        before: count(before, model),
        after: count(after, model),
    });
    cards.filter(|cards| cards.before != cards.after).collect()
}
