//! Groups differences into changes for a reviewer: the effect of one edit on one resource is a change, and so is the
//! same effect on fifty similar resources.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::lock::LOCK_FILE;
use gpuc_model::plan::Change as Becomes;
use gpuc_syntax::source::Sources;
use serde_json::Value as Json;

use super::changes::{Delta, Fate};
use super::classify::{Setting, Verdict, judge};
use super::edits::Edit;
use super::entities::{FACTS, Key, LAYOUT, MACHINE, MAKER, NODES, SHARING, TEXT};
use super::impact::Impact;
use super::report::{Cause, Change, ClusterFate, FieldChange, Range};

/// A difference with its verdict.
struct Judged<'a> {
    delta: &'a Delta,
    verdict: Verdict,
}

/// The differences of one entity with the same causes.
struct Group<'a> {
    key: &'a Key,
    causes: &'a [usize],
    fate: Fate,
    impact: Impact,
    differences: Vec<Judged<'a>>,
}

impl Group<'_> {
    /// The reason for the worst impact, followed by the reason of an immutable field if that is another one.
    fn because(&self) -> Option<String> {
        let mut verdicts = self.differences.iter().map(|it| &it.verdict);
        let worst = verdicts.next()?;
        let fixed = verdicts.find(|verdict| verdict.is_fixed && !worst.is_fixed);
        let words = [Some(worst), fixed].into_iter().flatten();
        let words: Vec<&str> = words.filter_map(|it| it.because.as_deref()).collect();
        (!words.is_empty()).then(|| words.join(". "))
    }
}

/// The changes, worst first, numbered from `first`.
pub(super) fn lines(
    setting: &Setting<'_>,
    deltas: &[Delta],
    causes: &[Vec<usize>],
    shown: &[Cause],
    first: usize,
) -> Vec<Change> {
    let groups = merged(groups(setting, deltas, causes));
    let mut changes: Vec<Change> = groups
        .iter()
        .map(|alike| line(setting, alike, shown))
        .collect();
    // Revoked access that remains is unexpected, so it comes first.
    let is_left = |change: &Change| {
        change.impact == Impact::AccessChanged && change.fate == ClusterFate::Removed
    };
    let order = |change: &Change| {
        let (is_pool, is_file) = (change.kind == "pool", change.kind == "file");
        (change.impact, !is_left(change), !is_pool, is_file)
    };
    changes.sort_by(|a, b| {
        let names = || (&a.kind, &a.names).cmp(&(&b.kind, &b.names));
        order(a).cmp(&order(b)).then_with(names)
    });
    for (number, change) in changes.iter_mut().enumerate() {
        change.id = first + number;
    }
    changes
}

/// The locations of edits.
pub(super) fn places(edits: &[Edit], sources: &Sources, lock: Option<&str>) -> Vec<Cause> {
    let place = |edit: &Edit| {
        let found = sources.locate(edit.span);
        Cause {
            path: edit.path.clone(),
            file: match edit.picked() {
                Some(_) => lock.map(str::to_owned),
                None => found.map(|(path, _)| path.to_owned()),
            },
            line: found.map(|(_, position)| position.line),
            column: found.map(|(_, position)| position.column),
            in_base: edit.is_gone,
        }
    };
    edits.iter().map(place).collect()
}

/// Explains files in which only the name of the input changes.
pub(super) fn headers(changes: &mut [Change], name: &Cause) {
    let is_header = |change: &&mut Change| {
        change.kind == Key::File(String::new()).kind()
            && change.causes.as_slice() == std::slice::from_ref(name)
            && !change.names.iter().any(|file| file == LOCK_FILE)
    };
    for change in changes.iter_mut().filter(is_header) {
        change.because = Some("its header names the file that it was generated from".to_owned());
    }
}

/// The location of a cluster that is on one side only.
pub(super) fn of_cluster(side: &Compilation, is_gone: bool, sources: &Sources) -> Option<Cause> {
    let name = &side.config.as_ref()?.metadata.name;
    let (file, position) = sources.locate(name.span)?;
    Some(Cause {
        path: "metadata.name".to_owned(),
        file: Some(file.to_owned()),
        line: Some(position.line),
        column: Some(position.column),
        in_base: is_gone,
    })
}

fn groups<'a>(
    setting: &Setting<'_>,
    deltas: &'a [Delta],
    causes: &'a [Vec<usize>],
) -> Vec<Group<'a>> {
    let files: BTreeSet<&String> = deltas
        .iter()
        .filter(|delta| !matches!(delta.key, Key::File(_)))
        .flat_map(|delta| {
            let parts = [&setting.before.all, &setting.after.all];
            let parts = parts.into_iter().filter_map(|parts| parts.get(&delta.key));
            parts.flat_map(|part| &part.files)
        })
        .collect();
    // The text of a file is reported only if no field explains the difference.
    let sized: BTreeSet<(&Key, bool)> = deltas
        .iter()
        .map(|delta| (&delta.key, delta.path.as_deref() == Some(NODES)))
        .collect();
    let is_told = |delta: &Delta| match &delta.key {
        Key::File(path) => files.contains(path),
        // The machine and the number of nodes are reported once.
        Key::Pool(_) => is_said(setting, delta, sized.contains(&(&delta.key, true))),
        _ => false,
    };
    let mut groups: BTreeMap<(&Key, &[usize]), Vec<Judged<'a>>> = BTreeMap::new();
    for (delta, causes) in deltas.iter().zip(causes) {
        if !is_told(delta) {
            let verdict = judge(setting, delta);
            let group = groups.entry((&delta.key, causes)).or_default();
            group.push(Judged { delta, verdict });
        }
    }
    let groups = groups.into_iter().map(|((key, causes), mut differences)| {
        differences.sort_by(|a, b| order(a).cmp(&order(b)));
        let worst = differences.iter().map(|it| it.verdict.impact).min();
        Group {
            key,
            causes,
            fate: differences
                .iter()
                .map(|it| it.delta.fate())
                .min()
                .unwrap_or(Fate::Stayed),
            impact: worst.unwrap_or(Impact::Nothing),
            differences,
        }
    });
    groups.collect()
}

/// Order of differences: worst first, and facts that users write before derived fields.
fn order<'a>(judged: &Judged<'a>) -> (Impact, bool, usize, &'a Option<String>) {
    let path = judged.delta.path.as_deref().unwrap_or_default();
    let written = FACTS.iter().position(|fact| *fact == path);
    (
        judged.verdict.impact,
        // Immutable fields decide how the rest is applied.
        !judged.verdict.is_fixed,
        written.unwrap_or(FACTS.len()),
        &judged.delta.path,
    )
}

/// Whether a field of a pool duplicates another field of it.
fn is_said(setting: &Setting<'_>, delta: &Delta, is_sized: bool) -> bool {
    let Some((part, path)) = setting.part(&delta.key).zip(delta.path.as_deref()) else {
        return false;
    };
    let field = part.fields.get(path);
    // Lists of locations are not sizes.
    let resizes = field.is_some_and(|field| field.change == Becomes::Resizes)
        && !matches!(delta.to, Some(Json::Array(_)));
    let by_table = path == MACHINE && !part.fields.is_empty();
    by_table || (resizes && is_sized) || (path != MAKER && is_handed_over(setting, delta))
}

/// Whether a field belongs to a node provisioner that only one side uses.
fn is_handed_over(setting: &Setting<'_>, delta: &Delta) -> bool {
    let sides = [setting.before, setting.after].map(|parts| parts.all.get(&delta.key));
    let [Some(old), Some(new)] = sides else {
        return false;
    };
    let path = delta.path.as_deref().unwrap_or_default();
    let is_of_table = old.fields.contains_key(path) || new.fields.contains_key(path);
    let makers = [old, new].map(|part| part.maker.map(|maker| maker.name));
    is_of_table && makers[0] != makers[1]
}

/// Merges groups with the same effect on resources of the same kind.
fn merged<'a>(groups: Vec<Group<'a>>) -> Vec<Vec<Group<'a>>> {
    let mut alike: BTreeMap<_, Vec<Group<'a>>> = BTreeMap::new();
    for group in groups {
        let paths: Vec<_> = group
            .differences
            .iter()
            .map(|it| it.delta.path.as_deref())
            .collect();
        let because = group.because();
        let kind = match group.key {
            Key::File(path) if path == LOCK_FILE => "lock",
            key => key.kind(),
        };
        // The fate of each removed pool is reported separately.
        let because = because.filter(|_| matches!(group.key, Key::Pool(_)));
        let key = (group.impact, kind, group.fate, group.causes, paths, because);
        alike.entry(key).or_default().push(group);
    }
    alike.into_values().collect()
}

fn line(setting: &Setting<'_>, alike: &[Group<'_>], shown: &[Cause]) -> Change {
    let first = &alike[0];
    let verdict = &first.differences[0].verdict;
    let because = first.because();
    let is_same = alike.iter().all(|it| it.because() == because);
    let mut files = BTreeSet::new();
    for group in alike {
        for parts in [&setting.before.all, &setting.after.all] {
            files.extend(
                parts
                    .get(group.key)
                    .into_iter()
                    .flat_map(|part| part.files.iter().cloned()),
            );
        }
    }
    let causes = first.causes.iter().filter_map(|number| shown.get(*number));
    Change {
        id: 0,
        impact: first.impact,
        kind: first.key.kind().to_owned(),
        names: alike.iter().map(|group| group.key.name()).collect(),
        fate: match first.fate {
            Fate::Came => ClusterFate::Added,
            Fate::Went => ClusterFate::Removed,
            Fate::Stayed => ClusterFate::Kept,
        },
        because: because.filter(|_| is_same),
        source: verdict.source.map(str::to_owned),
        nodes: nodes(setting, alike),
        fields: fields(alike),
        causes: causes.cloned().collect(),
        files: files.into_iter().collect(),
    }
}

/// The fields of merged groups: listed once if all have the same values.
fn fields(alike: &[Group<'_>]) -> Vec<FieldChange> {
    let of = |group: &Group<'_>, name: Option<String>| -> Vec<FieldChange> {
        let differences = group.differences.iter();
        let field = |it: &Judged<'_>| {
            Some(FieldChange {
                of: name.clone(),
                path: it.delta.path.clone()?,
                from: it.delta.from.clone(),
                to: it.delta.to.clone(),
                impact: it.verdict.impact,
                because: it.verdict.because.clone(),
                source: it.verdict.source.map(str::to_owned),
                is_fixed: it.verdict.is_fixed,
            })
        };
        // Digests of texts are not useful to a reader.
        let digest = |it: &&Judged<'_>| {
            matches!(it.delta.key, Key::File(_)) && it.delta.path.as_deref() == Some(TEXT)
        };
        differences
            .filter(|it| !digest(it))
            .filter_map(field)
            .collect()
    };
    let first = of(&alike[0], None);
    if alike.iter().all(|group| of(group, None) == first) {
        return first;
    }
    let each = alike
        .iter()
        .flat_map(|group| of(group, Some(group.key.name())));
    each.collect()
}

/// The number of affected nodes, for impacts on nodes.
fn nodes(setting: &Setting<'_>, alike: &[Group<'_>]) -> Option<Range> {
    let on_nodes = matches!(
        alike[0].impact,
        Impact::Deleted
            | Impact::Replaced
            | Impact::NodesRecreated
            | Impact::SlicesRecut
            | Impact::DriverRestarted
            | Impact::PluginRestarted
    );
    if !on_nodes {
        return None;
    }
    let mut names = BTreeSet::new();
    for group in alike {
        let part = setting.part(group.key)?;
        match group.key {
            Key::Resource(..) | Key::File(_) => return None,
            Key::Place => names.extend(every(setting)),
            // Only pools with another MIG geometry are repartitioned.
            Key::Release(_) if group.impact == Impact::SlicesRecut => {
                names.extend(
                    with_gpus(setting)
                        .into_iter()
                        .filter(|it| is_recut(setting, it)),
                );
            }
            _ if part.pools.is_empty() => names.extend(with_gpus(setting)),
            _ => names.extend(part.pools.iter().cloned()),
        }
    }
    let pools = [setting.before, setting.after].map(|parts| &parts.summary.pools);
    let (mut min, mut max) = (0, 0);
    for name in names {
        // The pool before the change is affected.
        let pool = pools.into_iter().flatten().find(|pool| pool.name == name);
        min += pool.map_or(0, |pool| u64::from(pool.min_nodes));
        max += pool.map_or(0, |pool| u64::from(pool.max_nodes));
    }
    Some(Range { min, max })
}

fn every(setting: &Setting<'_>) -> impl Iterator<Item = String> {
    let pools = setting.before.summary.pools.iter();
    pools.map(|pool| pool.name.clone())
}

/// Whether a pool's GPUs are repartitioned.
fn is_recut(setting: &Setting<'_>, pool: &str) -> bool {
    let key = Key::Pool(pool.to_owned());
    let [old, new] = [setting.before, setting.after].map(|parts| {
        let part = parts.all.get(&key);
        [SHARING, LAYOUT].map(|fact| Some(&part?.leaves.get(fact)?.value))
    });
    old != new
}

fn with_gpus(setting: &Setting<'_>) -> Vec<String> {
    let pools = setting
        .before
        .summary
        .pools
        .iter()
        .filter(|pool| pool.max_gpus > 0);
    pools.map(|pool| pool.name.clone()).collect()
}
