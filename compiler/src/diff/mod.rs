//! What a change of the input means for what runs: two compilations of a cluster to lines for a reviewer.
//!
//! ```text
//! two Compilations ─parts→ fields by part ─deltas→ what differs ─causes→ which edit did it ─judge→ impact ─lines→ Diff
//! ```

mod causes;
mod deltas;
mod edits;
mod facts;
mod files;
mod impact;
mod judge;
mod leaves;
mod lines;
mod parts;
mod place;
pub mod render;
mod rollout;
mod shown;
mod upgrade;

pub use causes::Sides;
pub use files::apply;
pub use impact::Impact;
pub use judge::is_known;
pub use rollout::{BUILD, TEARDOWN};
pub use shown::{
    Cards, Cause, Change, ClusterFate, Diff, Diffs, FieldChange, FileChange, Hunk, Range, Step,
    Unbuilt,
};
pub use upgrade::Committed;

use std::collections::BTreeSet;

use crate::compile::{Compilation, Options};
use crate::graph::mermaid_of;
use crate::plan::Delivery;
use crate::source::Sources;
use judge::Setting;
use parts::Parts;

/// The version of the JSON.
pub const VERSION: u32 = 1;

/// A cluster on both sides, on one of them as it is compiled.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// As it was, if it was.
    pub before: Option<&'a Compilation>,
    /// As it is, if it is.
    pub after: Option<&'a Compilation>,
    /// The tree that was committed in the base, if that is known.
    pub committed: Option<&'a Committed>,
    /// Where the lock stands from which what was picked is known, if there was one on both sides.
    pub lock: Option<&'a str>,
}

/// What differs between two states of a cluster; `None` where one of them has errors.
pub fn diff(pair: Pair<'_>, options: &Options<'_>, sources: &Sources) -> Option<Diff> {
    let (before, after) = parts(&pair)?;
    let setting = Setting {
        before: &before,
        after: &after,
        prunes: match (pair.before, pair.after) {
            // What one tool brought, no other one removes.
            (Some(_), Some(_)) => !before.tool.is_empty() && before.is_brought_as(&after),
            _ => !before.tool.is_empty() || !after.tool.is_empty(),
        },
        is_stale: false,
    };
    let found = deltas::deltas(&before, &after);
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
        // All of it comes and goes with the cluster.
        _ => (Vec::new(), vec![vec![0]; found.len()]),
    };
    let alone = match (pair.before, pair.after) {
        (Some(old), None) => lines::of_cluster(old, true, sources),
        (None, Some(new)) => lines::of_cluster(new, false, sources),
        _ => None,
    };
    let shown: Vec<Cause> = alone
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
    // Where the input stands is for whoever writes the tree to say.
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
        // What runs is what was built last, whatever was merged since.
        let was = Parts::of(built)?;
        let setting = Setting {
            before: &was,
            after: &after,
            prunes: !was.tool.is_empty() && was.is_brought_as(&after),
            is_stale: false,
        };
        let found = deltas::deltas(&was, &after);
        let nobody = vec![Vec::new(); found.len()];
        let since = lines::lines(&setting, &found, &nobody, &[], 1);
        let steps = rollout::rollout(&setting, (Some(built), pair.after), &since, sources);
        rollout::since_built(steps, tree, (&since, &all))
    } else {
        let moved = upgraded.changes.iter();
        let moved = moved.filter(|it| it.impact.disrupts() && it.fate == ClusterFate::Kept);
        let both: Vec<Change> = changes.iter().chain(moved).cloned().collect();
        rollout::rollout(&setting, (pair.before, pair.after), &both, sources)
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
        // What is on disk, and where, is for whoever reads it to say.
        moved_from: None,
        unbuilt: Vec::new(),
        picture: picture(pair.after, &all),
        tool: after.tool,
    })
}

/// Both sides as parts; what was compiled once is taken apart once.
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

/// The commit and the input that the committed tree was built from, where that is not the base's.
fn built<'a>(pair: &Pair<'a>) -> Option<(&'a str, &'a Compilation)> {
    pair.before.and(pair.after)?;
    let (commit, built) = pair.committed?.made_of.as_ref()?;
    built.plan.as_ref()?;
    Some((commit.as_str(), built))
}

/// The most characters of a picture.
const LARGEST_PICTURE: usize = 8_000;

/// The cluster as it will be, where its pools or what teams may use of them changes.
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

/// Whether what leaves the tree leaves the cluster.
fn prunes(compilation: &Compilation) -> bool {
    let plan = compilation.plan.as_ref();
    plan.is_some_and(|plan| matches!(plan.delivery, Delivery::Gitops { .. }))
}

/// The models whose number of cards changes.
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
