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
mod impact;
mod lines;
mod location;
pub mod render;
mod report;
mod rollout;
mod upgrade;

use gpuc_compile::compile::{Compilation, Options};
use gpuc_model::plan::Delivery;
use gpuc_syntax::source::Sources;

pub use causes::Sides;
pub use classify::is_known;
pub use files::apply;
pub use impact::Impact;
pub use report::{
    Cards, Cause, Change, ClusterFate, Diff, Diffs, FieldChange, FileChange, Hunk, Range, Step,
    Unbuilt,
};
pub use rollout::{BUILD, TEARDOWN};
pub use upgrade::Committed;

use std::collections::BTreeSet;

use crate::graph::mermaid_of;
use classify::Setting;
use entities::Parts;

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
fn cluster_cause(pair: &Pair<'_>, sources: &Sources) -> Option<Cause> {
    match (pair.before, pair.after) {
        (Some(old), None) => lines::of_cluster(old, true, sources),
        (None, Some(new)) => lines::of_cluster(new, false, sources),
        _ => None,
    }
}

/// Compares two states of a cluster; `None` if one of them has errors.
pub fn diff(pair: Pair<'_>, options: &Options<'_>, sources: &Sources) -> Option<Diff> {
    let (before, after) = parts(&pair)?;
    let setting = Setting {
        before: &before,
        after: &after,
        prunes: match (pair.before, pair.after) {
            // A GitOps controller prunes only what it deployed itself.
            (Some(_), Some(_)) => !before.tool.is_empty() && before.is_brought_as(&after),
            _ => !before.tool.is_empty() || !after.tool.is_empty(),
        },
        is_stale: false,
    };
    let found = changes::deltas(&before, &after);
    let (edits, causes) = match (pair.before, pair.after) {
        (Some(old), Some(new)) => {
            let mut edits = edits::edits(&old.loaded, &new.loaded);
            let sides = Sides {
                before: old,
                after: new,
                options,
            };
            if pair.lock.is_some() {
                edits.extend(causes::picks(&sides));
            }
            let causes = causes::causes(&sides, &edits, (&before, &after), &found);
            (edits, causes)
        }
        // All of it is added or removed with the cluster.
        _ => (Vec::new(), vec![vec![0]; found.len()]),
    };
    let shown: Vec<Cause> = cluster_cause(&pair, sources)
        .into_iter()
        .chain(lines::places(&edits, sources, pair.lock))
        .collect();
    let mut changes = lines::lines(&setting, &found, &causes, &shown, 1);
    if let Some(name) = edits.iter().position(edits::Edit::is_of_file) {
        lines::headers(&mut changes, &shown[name]);
    }
    let upgraded = match (pair.committed, pair.before) {
        (Some(committed), Some(before)) => upgrade::upgrade(committed, before, changes.len() + 1),
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
        None => files::contents(trees[0], locks[0].as_deref()),
    };
    let is = files::contents(trees[1], locks[1].as_deref());
    let rollout = if let Some((tree, built)) = built(&pair) {
        // The running state is the last build, even if the input changed since.
        let was = Parts::of(built)?;
        let setting = Setting {
            before: &was,
            after: &after,
            prunes: !was.tool.is_empty() && was.is_brought_as(&after),
            is_stale: false,
        };
        let found = changes::deltas(&was, &after);
        let no_causes = vec![Vec::new(); found.len()];
        let since = lines::lines(&setting, &found, &no_causes, &[], 1);
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
            .filter(|change| change.impact.disrupts() && change.fate == ClusterFate::Kept);
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
        cluster: name(pair.after.or(pair.before)).unwrap_or_default(),
        formerly: (name(pair.before).zip(name(pair.after)))
            .and_then(|(old, new)| (old != new).then_some(old)),
        fate: match (pair.before, pair.after) {
            (None, _) => ClusterFate::Added,
            (_, None) => ClusterFate::Removed,
            _ => ClusterFate::Kept,
        },
        worst: all.iter().map(|change| change.impact).min(),
        files: files::files(&was, &is, &all),
        gpus: cards(&before, &after),
        changes,
        upgrades: upgraded.changes,
        upgraded: upgraded.because,
        rollout,
        // The caller that reads the disk sets these.
        moved_from: None,
        unbuilt: Vec::new(),
        picture: picture(pair.after, &all),
        tool: after.tool,
    })
}

/// The entities of both sides; a compilation on both sides is processed once.
fn parts(pair: &Pair<'_>) -> Option<(Parts, Parts)> {
    let parts = |side: Option<&Compilation>| match side {
        Some(side) => Parts::of(side),
        None => Some(Parts::default()),
    };
    let before = parts(pair.before)?;
    let is_same = |(old, new): (&Compilation, &Compilation)| std::ptr::eq(old, new);
    let after = if pair.before.zip(pair.after).is_some_and(is_same) {
        before.clone()
    } else {
        parts(pair.after)?
    };
    Some((before, after))
}

fn name(side: Option<&Compilation>) -> Option<String> {
    let config = side?.config.as_ref();
    config.map(|config| config.metadata.name.value.clone())
}

/// The commit and the input that the committed tree was built from, if the base's input differs.
fn built<'a>(pair: &Pair<'a>) -> Option<(&'a str, &'a Compilation)> {
    pair.before.and(pair.after)?;
    let (commit, built) = pair.committed?.made_of.as_ref()?;
    built.plan.as_ref()?;
    Some((commit.as_str(), built))
}

/// The maximum length of a flowchart, in characters.
const LARGEST_PICTURE: usize = 8_000;

/// A flowchart of the cluster after the change, if its pools or quotas change.
fn picture(after: Option<&Compilation>, changes: &[Change]) -> Option<String> {
    let shows = |change: &Change| {
        change.kind == "pool" || matches!(change.impact, Impact::QuotaCut | Impact::QuotaRaised)
    };
    if !changes.iter().any(shows) {
        return None;
    }
    let after = after?;
    let (cluster, plan) = (after.cluster.as_ref()?, after.plan.as_ref()?);
    Some(mermaid_of(cluster, &plan.summary, LARGEST_PICTURE))
}

/// Whether objects removed from the tree are pruned from the cluster.
fn prunes(compilation: &Compilation) -> bool {
    let plan = compilation.plan.as_ref();
    plan.is_some_and(|plan| matches!(plan.delivery, Delivery::Gitops { .. }))
}

/// The GPU models whose number of GPUs changes.
fn cards(before: &Parts, after: &Parts) -> Vec<Cards> {
    let models: BTreeSet<&String> = before.gpus.keys().chain(after.gpus.keys()).collect();
    let count = |parts: &Parts, model: &String| {
        let (min, max) = parts.gpus.get(model).copied().unwrap_or_default();
        Range { min, max }
    };
    let cards = models.into_iter().map(|model| Cards {
        model: model.clone(),
        before: count(before, model),
        after: count(after, model),
    });
    cards.filter(|cards| cards.before != cards.after).collect()
}
