//! Groups differences into changes for a reviewer: the effect of one edit on one resource is a change, and so is the
//! same effect on fifty similar resources.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::compile::Compilation;
use gpuc_compile::lock::LOCK_FILE;
use gpuc_model::plan::Change as Becomes;
use gpuc_syntax::source::Sources;
use serde_json::Value as Json;

use super::changes::{Delta, EntityChange};
use super::classify::{Classification, DiffContext, classify};
use super::edits::Edit;
use super::entities::{
    EntityKey, FACTS, FILE_TEXT, MACHINE, MIG_LAYOUT, NODE_PROVISIONER, NODES, SHARING,
};
use super::impact::Impact;
use super::report::{Cause, Change, FieldChange, Range, Status};

/// A difference with its classification.
struct ClassifiedDelta<'a> {
    delta: &'a Delta,
    classification: Classification,
}

/// The differences of one entity with the same causes.
struct ChangeGroup<'a> {
    key: &'a EntityKey,
    causes: &'a [usize],
    entity_change: EntityChange,
    impact: Impact,
    differences: Vec<ClassifiedDelta<'a>>,
}

impl ChangeGroup<'_> {
    /// The reason for the worst impact, followed by the reason of an immutable field if that is another one.
    fn worst_reason(&self) -> Option<String> {
        let mut classifications = self.differences.iter().map(|it| &it.classification);
        let worst = classifications.next()?;
        let fixed = classifications
            .find(|classification| classification.is_immutable && !worst.is_immutable);
        let words = [Some(worst), fixed].into_iter().flatten();
        let words: Vec<&str> = words.filter_map(|it| it.reason.as_deref()).collect();
        (!words.is_empty()).then(|| words.join(". "))
    }
}

/// The changes, worst first, numbered from `first`.
pub(super) fn group_changes(
    setting: &DiffContext<'_>,
    deltas: &[Delta],
    causes: &[Vec<usize>],
    shown: &[Cause],
    first: usize,
) -> Vec<Change> {
    let groups = merge_groups(change_groups(setting, deltas, causes));
    let mut changes: Vec<Change> = groups
        .iter()
        .map(|alike| change_from_groups(setting, alike, shown))
        .collect();
    // Revoked access that remains is unexpected, so it comes first.
    let is_left = |change: &Change| {
        change.impact == Impact::AccessChanged && change.status == Status::Removed
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
pub(super) fn edit_causes(edits: &[Edit], sources: &Sources, lock: Option<&str>) -> Vec<Cause> {
    let locate_edit = |edit: &Edit| {
        let found = sources.locate(edit.span);
        Cause {
            path: edit.path.clone(),
            file: match edit.selected_machine() {
                Some(_) => lock.map(str::to_owned),
                None => found.map(|(path, _)| path.to_owned()),
            },
            line: found.map(|(_, position)| position.line),
            column: found.map(|(_, position)| position.column),
            in_base: edit.is_removal,
        }
    };
    edits.iter().map(locate_edit).collect()
}

/// Explains files in which only the name of the input changes.
pub(super) fn explain_headers(changes: &mut [Change], name: &Cause) {
    let is_header = |change: &&mut Change| {
        change.kind == EntityKey::File(String::new()).kind()
            && change.causes.as_slice() == std::slice::from_ref(name)
            && !change.names.iter().any(|file| file == LOCK_FILE)
    };
    for change in changes.iter_mut().filter(is_header) {
        change.reason = Some("its header names the file that it was generated from".to_owned());
    }
}

/// The location of a cluster that is on one side only.
pub(super) fn cluster_cause(side: &Compilation, is_gone: bool, sources: &Sources) -> Option<Cause> {
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

fn change_groups<'a>(
    setting: &DiffContext<'_>,
    deltas: &'a [Delta],
    causes: &'a [Vec<usize>],
) -> Vec<ChangeGroup<'a>> {
    let files: BTreeSet<&String> = deltas
        .iter()
        .filter(|delta| !matches!(delta.key, EntityKey::File(_)))
        .flat_map(|delta| {
            let entities = [&setting.before.by_key, &setting.after.by_key];
            let entities = entities
                .into_iter()
                .filter_map(|entities| entities.get(&delta.key));
            entities.flat_map(|entity| &entity.files)
        })
        .collect();
    // The text of a file is reported only if no field explains the difference.
    let sized: BTreeSet<(&EntityKey, bool)> = deltas
        .iter()
        .map(|delta| (&delta.key, delta.path.as_deref() == Some(NODES)))
        .collect();
    let is_reported_elsewhere = |delta: &Delta| match &delta.key {
        EntityKey::File(path) => files.contains(path),
        // The machine and the number of nodes are reported once.
        EntityKey::Pool(_) => is_redundant(setting, delta, sized.contains(&(&delta.key, true))),
        _ => false,
    };
    let mut groups: BTreeMap<(&EntityKey, &[usize]), Vec<ClassifiedDelta<'a>>> = BTreeMap::new();
    for (delta, causes) in deltas.iter().zip(causes) {
        if !is_reported_elsewhere(delta) {
            let classification = classify(setting, delta);
            let group = groups.entry((&delta.key, causes)).or_default();
            group.push(ClassifiedDelta {
                delta,
                classification,
            });
        }
    }
    let groups = groups.into_iter().map(|((key, causes), mut differences)| {
        differences.sort_by(|a, b| delta_order(a).cmp(&delta_order(b)));
        let worst = differences.iter().map(|it| it.classification.impact).min();
        ChangeGroup {
            key,
            causes,
            entity_change: differences
                .iter()
                .map(|it| it.delta.entity_change())
                .min()
                .unwrap_or(EntityChange::Modified),
            impact: worst.unwrap_or(Impact::Nothing),
            differences,
        }
    });
    groups.collect()
}

/// Order of differences: worst first, and facts that users write before derived fields.
fn delta_order<'a>(judged: &ClassifiedDelta<'a>) -> (Impact, bool, usize, &'a Option<String>) {
    let path = judged.delta.path.as_deref().unwrap_or_default();
    let written = FACTS.iter().position(|fact| *fact == path);
    (
        judged.classification.impact,
        // Immutable fields decide how the rest is applied.
        !judged.classification.is_immutable,
        written.unwrap_or(FACTS.len()),
        &judged.delta.path,
    )
}

/// Whether a field of a pool duplicates another field of it.
fn is_redundant(setting: &DiffContext<'_>, delta: &Delta, is_sized: bool) -> bool {
    let Some((entity, path)) = setting.entity(&delta.key).zip(delta.path.as_deref()) else {
        return false;
    };
    let field = entity.field_kinds.get(path);
    // Lists of locations are not sizes.
    let resizes = field.is_some_and(|field| field.change == Becomes::Resize)
        && !matches!(delta.to, Some(Json::Array(_)));
    let is_in_table = path == MACHINE && !entity.field_kinds.is_empty();
    is_in_table
        || (resizes && is_sized)
        || (path != NODE_PROVISIONER && is_handed_over(setting, delta))
}

/// Whether a field belongs to a node provisioner that only one side uses.
fn is_handed_over(setting: &DiffContext<'_>, delta: &Delta) -> bool {
    let sides = [setting.before, setting.after].map(|entities| entities.by_key.get(&delta.key));
    let [Some(old), Some(new)] = sides else {
        return false;
    };
    let path = delta.path.as_deref().unwrap_or_default();
    let is_of_table = old.field_kinds.contains_key(path) || new.field_kinds.contains_key(path);
    let provisioners =
        [old, new].map(|entity| entity.node_provisioner.map(|provisioner| provisioner.name));
    is_of_table && provisioners[0] != provisioners[1]
}

/// Merges groups with the same effect on resources of the same kind.
fn merge_groups<'a>(groups: Vec<ChangeGroup<'a>>) -> Vec<Vec<ChangeGroup<'a>>> {
    let mut alike: BTreeMap<_, Vec<ChangeGroup<'a>>> = BTreeMap::new();
    for group in groups {
        let paths: Vec<_> = group
            .differences
            .iter()
            .map(|it| it.delta.path.as_deref())
            .collect();
        let kind = match group.key {
            EntityKey::File(path) if path == LOCK_FILE => "lock",
            key => key.kind(),
        };
        // The reason of each pool is reported separately.
        let reason = group
            .worst_reason()
            .filter(|_| matches!(group.key, EntityKey::Pool(_)));
        let key = (
            group.impact,
            kind,
            group.entity_change,
            group.causes,
            paths,
            reason,
        );
        alike.entry(key).or_default().push(group);
    }
    alike.into_values().collect()
}

fn change_from_groups(
    setting: &DiffContext<'_>,
    groups: &[ChangeGroup<'_>],
    shown: &[Cause],
) -> Change {
    let first = &groups[0];
    let classification = &first.differences[0].classification;
    let reason = first.worst_reason();
    let is_same = groups.iter().all(|it| it.worst_reason() == reason);
    let mut files = BTreeSet::new();
    for group in groups {
        for entities in [&setting.before.by_key, &setting.after.by_key] {
            files.extend(
                entities
                    .get(group.key)
                    .into_iter()
                    .flat_map(|entity| entity.files.iter().cloned()),
            );
        }
    }
    let causes = first.causes.iter().filter_map(|number| shown.get(*number));
    Change {
        id: 0,
        impact: first.impact,
        kind: first.key.kind().to_owned(),
        names: groups.iter().map(|group| group.key.name()).collect(),
        status: match first.entity_change {
            EntityChange::Added => Status::Added,
            EntityChange::Removed => Status::Removed,
            EntityChange::Modified => Status::Kept,
        },
        reason: reason.filter(|_| is_same),
        source: classification.source.map(str::to_owned),
        nodes: affected_nodes(setting, groups),
        fields: changed_fields(groups),
        causes: causes.cloned().collect(),
        files: files.into_iter().collect(),
    }
}

/// The fields of merged groups: listed once if all have the same values.
fn changed_fields(groups: &[ChangeGroup<'_>]) -> Vec<FieldChange> {
    let of = |group: &ChangeGroup<'_>, name: Option<String>| -> Vec<FieldChange> {
        let differences = group.differences.iter();
        let field = |it: &ClassifiedDelta<'_>| {
            Some(FieldChange {
                resource: name.clone(),
                path: it.delta.path.clone()?,
                from: it.delta.from.clone(),
                to: it.delta.to.clone(),
                impact: it.classification.impact,
                reason: it.classification.reason.clone(),
                source: it.classification.source.map(str::to_owned),
                is_fixed: it.classification.is_immutable,
            })
        };
        // Digests of texts are not useful to a reader.
        let digest = |it: &&ClassifiedDelta<'_>| {
            matches!(it.delta.key, EntityKey::File(_))
                && it.delta.path.as_deref() == Some(FILE_TEXT)
        };
        differences
            .filter(|it| !digest(it))
            .filter_map(field)
            .collect()
    };
    let first = of(&groups[0], None);
    if groups.iter().all(|group| of(group, None) == first) {
        return first;
    }
    let each = groups
        .iter()
        .flat_map(|group| of(group, Some(group.key.name())));
    each.collect()
}

/// The number of affected nodes, for impacts on nodes.
fn affected_nodes(setting: &DiffContext<'_>, groups: &[ChangeGroup<'_>]) -> Option<Range> {
    let on_nodes = matches!(
        groups[0].impact,
        Impact::Deleted
            | Impact::Replaced
            | Impact::NodesRecreated
            | Impact::MigReconfigured
            | Impact::DriverRestarted
            | Impact::DevicePluginRestarted
    );
    if !on_nodes {
        return None;
    }
    let mut names = BTreeSet::new();
    for group in groups {
        let entity = setting.entity(group.key)?;
        match group.key {
            EntityKey::Resource(..) | EntityKey::File(_) => return None,
            EntityKey::Location => names.extend(all_pools(setting)),
            // Only pools with another MIG geometry are repartitioned.
            EntityKey::Release(_) if group.impact == Impact::MigReconfigured => {
                names.extend(
                    gpu_pools(setting)
                        .into_iter()
                        .filter(|it| is_repartitioned(setting, it)),
                );
            }
            _ if entity.pools.is_empty() => names.extend(gpu_pools(setting)),
            _ => names.extend(entity.pools.iter().cloned()),
        }
    }
    let pools = [setting.before, setting.after].map(|entities| &entities.summary.pools);
    let (mut min, mut max) = (0, 0);
    for name in names {
        // The pool before the change is affected.
        let pool = pools.into_iter().flatten().find(|pool| pool.name == name);
        min += pool.map_or(0, |pool| u64::from(pool.min_nodes));
        max += pool.map_or(0, |pool| u64::from(pool.max_nodes));
    }
    Some(Range { min, max })
}

fn all_pools(setting: &DiffContext<'_>) -> impl Iterator<Item = String> {
    let pools = setting.before.summary.pools.iter();
    pools.map(|pool| pool.name.clone())
}

/// Whether a pool's GPUs are repartitioned.
fn is_repartitioned(setting: &DiffContext<'_>, pool: &str) -> bool {
    let key = EntityKey::Pool(pool.to_owned());
    let [old, new] = [setting.before, setting.after].map(|entities| {
        let entity = entities.by_key.get(&key);
        [SHARING, MIG_LAYOUT].map(|fact| Some(&entity?.fields.get(fact)?.value))
    });
    old != new
}

fn gpu_pools(setting: &DiffContext<'_>) -> Vec<String> {
    let pools = setting
        .before
        .summary
        .pools
        .iter()
        .filter(|pool| pool.max_gpus > 0);
    pools.map(|pool| pool.name.clone()).collect()
}
