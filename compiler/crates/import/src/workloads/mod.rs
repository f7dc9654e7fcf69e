//! The key `workloads`: those that gpuc built, if the new file builds the same objects.
//!
//! The keys of a workload follow from its object. The file is then built, and a workload whose objects differ from
//! those of the cluster is left out.

mod candidate;
mod compare;
mod kinds;
mod patches;
mod pods;
mod tests;

use std::collections::BTreeMap;

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_model::WORKLOAD_LABEL;
use serde_json::Value;

use crate::context::Context;
use crate::emit::to_yaml;
use crate::pool::Pool;
use crate::report::Report;
use crate::tree::Item;

use candidate::{Candidate, candidates};
use kinds::{KINDS, TRAIN_JOB, TaskKind};
use pods::Part;

/// Builds the Kubernetes objects of a file, or returns its errors.
pub type Builder<'b> = dyn Fn(&str) -> Result<Vec<Value>, Vec<String>> + 'b;

/// What the parts of the file that exist already say about workloads.
pub(crate) struct Surroundings<'p, 's> {
    pub(crate) pools: &'p [Pool<'s>],
    pub(crate) teams: &'p [Item],
}

/// The key `workloads`. `root` is the file without it.
pub(crate) fn workloads(
    cx: &Context<'_>,
    surroundings: &Surroundings<'_, '_>,
    candidates_with: impl Fn(Vec<Item>) -> Item,
    builder: Option<&Builder<'_>>,
    report: &mut Report,
) -> Vec<Item> {
    let mut candidates = candidates(cx, surroundings);
    report_others(cx, report);
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(builder) = builder else {
        for candidate in &candidates {
            candidate.leave_out(
                report,
                "the file is not built, so that the objects cannot be compared",
            );
        }
        return Vec::new();
    };
    let build = |candidates: &[Candidate<'_>]| {
        let items = candidates.iter().map(Candidate::item).collect();
        builder(&to_yaml(&[], &candidates_with(items)))
    };
    // The first build shows which environment variables and volumes gpuc sets by itself.
    let all: Vec<Vec<Part>> = candidates
        .iter_mut()
        .map(|it| std::mem::take(&mut it.parts))
        .collect();
    let (mut kept, mut refused) = buildable(candidates, all, &build);
    let objects = build(
        &kept
            .iter()
            .map(|(it, _)| it.without_parts())
            .collect::<Vec<_>>(),
    );
    for (candidate, parts) in &mut kept {
        candidate.set_parts(parts, objects.as_deref().unwrap_or_default());
    }
    let candidates: Vec<Candidate<'_>> = kept.into_iter().map(|(it, _)| it).collect();
    let objects = match build(&candidates) {
        Ok(objects) => objects,
        Err(errors) => {
            let error = errors.first().cloned().unwrap_or_default();
            refused.extend(candidates.into_iter().map(|it| (it, error.clone())));
            for (candidate, error) in &refused {
                candidate.leave_out(report, &format!("gpuc refuses the file with it: {error}"));
            }
            return Vec::new();
        }
    };
    for (candidate, error) in &refused {
        candidate.leave_out(report, &format!("gpuc refuses the file with it: {error}"));
    }
    let (candidates, objects) = patched(cx, candidates, objects, &build);
    let mut items = Vec::new();
    for candidate in &candidates {
        match candidate.difference(cx, &objects) {
            None => items.push(candidate.item().sure(candidate.source.clone())),
            Some(difference) => candidate.leave_out(
                report,
                &format!("gpuc would build another object: {difference} differs"),
            ),
        }
    }
    items
}

/// Builds the objects of the file with some candidates.
type BuildWith<'b, 's> = dyn Fn(&[Candidate<'s>]) -> Result<Vec<Value>, Vec<String>> + 'b;

/// Candidates with the parts that they may need, and others with the reason why the file cannot contain them.
type Buildable<'s> = (
    Vec<(Candidate<'s>, Vec<Part>)>,
    Vec<(Candidate<'s>, String)>,
);

/// The candidates with which the file builds, and the others with their errors.
fn buildable<'s>(
    candidates: Vec<Candidate<'s>>,
    parts: Vec<Vec<Part>>,
    build: &BuildWith<'_, 's>,
) -> Buildable<'s> {
    if build(&candidates).is_ok() {
        return (candidates.into_iter().zip(parts).collect(), Vec::new());
    }
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (candidate, parts) in candidates.into_iter().zip(parts) {
        match build(std::slice::from_ref(&candidate)) {
            Ok(_) => kept.push((candidate, parts)),
            Err(errors) => refused.push((candidate, errors.first().cloned().unwrap_or_default())),
        }
    }
    (kept, refused)
}

/// The candidates with patches, where their objects differ, and the objects that the file then builds.
fn patched<'s>(
    cx: &Context<'_>,
    mut candidates: Vec<Candidate<'s>>,
    mut objects: Vec<Value>,
    build: &BuildWith<'_, 's>,
) -> (Vec<Candidate<'s>>, Vec<Value>) {
    // The patch of the pods first: that of the object then has what remains.
    for index in [0, 1] {
        let mut has_changed = false;
        for candidate in &mut candidates {
            if candidate.difference(cx, &objects).is_some() {
                candidate.patches[index] = candidate.patch(&objects, index == 0);
                has_changed |= candidate.patches[index].is_some();
            }
        }
        if !has_changed {
            continue;
        }
        match build(&candidates) {
            Ok(built) => objects = built,
            Err(_) => candidates
                .iter_mut()
                .for_each(|it| it.patches[index] = None),
        }
    }
    (candidates, objects)
}

/// Reports the workloads with GPUs that gpuc did not build, one entry for each kind and namespace.
fn report_others(cx: &Context<'_>, report: &mut Report) {
    let mut others: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for kind in KINDS.iter().chain([&TRAIN_JOB]) {
        for object in cx.state.objects(kind.kind) {
            let metadata = &object.metadata;
            let has_owner = metadata.controller().is_some();
            if metadata.label(WORKLOAD_LABEL).is_some() || has_owner || !requests_gpus(object, kind)
            {
                continue;
            }
            let key = (kind.kind.info().name, metadata.namespace.as_str());
            others.entry(key).or_default().push(&metadata.name);
        }
    }
    for ((kind, namespace), names) in others {
        let count = names.len();
        let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
        let rest = if count > 8 { ", …" } else { "" };
        report.leave_out(
            Some("workloads"),
            format!("{kind} {namespace}/{shown}{rest}"),
            "gpuc did not build it: its labels, which cannot change, are others than gpuc's; `gpuc check --manifests` checks its file",
        );
    }
}

fn requests_gpus(object: &Object, kind: &TaskKind) -> bool {
    let containers = object
        .get(kind.pods)
        .get("containers")
        .and_then(Value::as_array);
    let mut containers = containers.into_iter().flatten();
    kind.kind == Kind::TrainJob
        || containers.any(|it| {
            let limits = crate::json::text_entries(it, "/resources/limits");
            limits
                .iter()
                .any(|(name, _)| name.starts_with("nvidia.com/"))
        })
}

/// A value of JSON as a value of the file.
pub(crate) fn json_item(value: &Value) -> Item {
    match value {
        Value::Number(number) => {
            let mut item = Item::number(0);
            item.value = crate::tree::Value::Plain(number.to_string());
            item
        }
        Value::Bool(value) => Item::bool(*value),
        Value::String(text) => Item::text(text),
        Value::Array(items) => Item::list(items.iter().map(json_item)),
        Value::Object(entries) => Item::map(entries.iter().map(|(key, it)| (key, json_item(it)))),
        Value::Null => {
            let mut item = Item::number(0);
            item.value = crate::tree::Value::Plain("null".to_owned());
            item
        }
    }
}
