//! The key `workloads`: those that gpuc built, if the new file builds the same objects.
//!
//! The keys of a workload follow from its object. The file is then built, and a workload whose objects differ from those
//! of the cluster is left out.

mod compare;
mod kinds;
mod patches;
mod pods;
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_model::{WORKLOAD_LABEL, WORKLOADS_NAMESPACE};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::emit::to_yaml;
use crate::json::{number, text};
use crate::pool::Pool;
use crate::report::Report;
use crate::tree::{Entries, Item};

use kinds::{KINDS, TRAIN_JOB, TaskKind};
use pods::{Part, PodTemplate};

/// Builds the Kubernetes objects of a file, or returns its errors.
pub type Builder<'b> = dyn Fn(&str) -> Result<Vec<Value>, Vec<String>> + 'b;

/// A workload of the cluster that the file may contain.
struct Candidate<'s> {
    name: String,
    namespace: String,
    /// The notation of the main object.
    source: String,
    /// The keys before the task: name, team, namespace, pool, priority.
    head: Entries,
    /// The key of the task, and its keys without environment variables and volumes.
    task: (&'static str, Entries),
    /// The environment variables and volumes that the file has to set.
    parts: Vec<Part>,
    /// Where the main object has the `spec` of its pods, if it has such parts.
    pods: Option<(&'s Object, &'static str)>,
    /// The patches of the pods and of the object.
    patches: [Option<Value>; 2],
}

/// The team of a namespace, and whether the namespace is its first.
struct TeamNamespace {
    team: String,
    is_first: bool,
}

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

/// The candidates with which the file builds, and the others with their errors.
#[expect(
    clippy::type_complexity,
    reason = "pairs of candidates and what belongs to them"
)]
fn buildable<'s>(
    candidates: Vec<Candidate<'s>>,
    parts: Vec<Vec<Part>>,
    build: &dyn Fn(&[Candidate<'s>]) -> Result<Vec<Value>, Vec<String>>,
) -> (
    Vec<(Candidate<'s>, Vec<Part>)>,
    Vec<(Candidate<'s>, String)>,
) {
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
    build: &dyn Fn(&[Candidate<'s>]) -> Result<Vec<Value>, Vec<String>>,
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

impl Candidate<'_> {
    /// The patch of the pods, or of the object, that makes the built object the one of the cluster.
    fn patch(&self, objects: &[Value], is_of_pods: bool) -> Option<Value> {
        let (found, pointer) = self.pods?;
        // The name of the runtime of a TrainJob depends on the patch.
        let kind = text(&found.body, "/kind").filter(|kind| *kind != "TrainingRuntime")?;
        let mut built = objects.iter().filter(|it| self.owns(it));
        let built = built.find(|it| text(it, "/kind") == Some(kind))?;
        if is_of_pods {
            patches::patch(built.pointer(pointer)?, found.body.pointer(pointer)?)
        } else {
            patches::patch(built, &found.body)
        }
    }

    /// The item of the file.
    fn item(&self) -> Item {
        let mut entries = Entries(self.head.0.clone());
        let mut task = Entries(self.task.1.0.clone());
        for key in ["env", "envValueFrom"] {
            let own = self.parts.iter().filter(|it| it.key == key);
            let own = own.map(|it| (it.name.clone(), it.item.clone()));
            task.push_some(key, Entries(own.collect()).into_some());
        }
        let volumes = self.parts.iter().filter(|it| it.key == "volumes");
        task.push_list("volumes", volumes.map(|it| it.item.clone()).collect());
        entries.push(self.task.0, task.into_item());
        for (key, patch) in ["podPatch", "patch"].iter().zip(&self.patches) {
            entries.push_some(key, patch.as_ref().map(json_item));
        }
        entries.into_item()
    }

    fn without_parts(&self) -> Self {
        Self {
            patches: [None, None],
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            source: self.source.clone(),
            head: Entries(self.head.0.clone()),
            task: (self.task.0, Entries(self.task.1.0.clone())),
            parts: Vec::new(),
            pods: self.pods,
        }
    }

    /// Keeps the parts that gpuc does not set to the same value.
    fn set_parts(&mut self, parts: &[Part], objects: &[Value]) {
        let built = objects.iter().filter(|it| self.owns(it));
        let built = built
            .filter_map(|it| PodTemplate::new(it, self.pods?.1))
            .next();
        let needed = parts.iter().filter(|part| {
            let list = if part.key == "volumes" {
                "/volumeMounts"
            } else {
                "/env"
            };
            let known = built
                .as_ref()
                .map_or(&[][..], |it| crate::json::items(it.container, list));
            !known.contains(&part.entry)
        });
        self.parts = needed.cloned().collect();
    }

    /// Whether an object of the tree belongs to the workload.
    fn owns(&self, object: &Value) -> bool {
        let label = object
            .pointer("/metadata/labels")
            .and_then(|it| it.get(WORKLOAD_LABEL));
        label.and_then(Value::as_str) == Some(self.name.as_str())
            && text(object, "/metadata/namespace") == Some(self.namespace.as_str())
    }

    /// The first field in which an object of the tree differs from the cluster.
    fn difference(&self, cx: &Context<'_>, objects: &[Value]) -> Option<String> {
        let own: Vec<&Value> = objects.iter().filter(|it| self.owns(it)).collect();
        for built in &own {
            let kind_name = text(built, "/kind").unwrap_or_default();
            let group = text(built, "/apiVersion").unwrap_or_default();
            let group = group.split_once('/').map_or("", |(group, _)| group);
            let name = text(built, "/metadata/name").unwrap_or_default();
            let Some(kind) = Kind::find(group, kind_name) else {
                continue;
            };
            let Some(found) = cx.state.object(kind, &self.namespace, name) else {
                return Some(format!("{kind_name} {name}"));
            };
            let mut built = (*built).clone();
            if kind == Kind::ConfigMap && found.body.get("data").is_none() {
                // gpuc removes the data of most ConfigMaps before it reads them.
                built.as_object_mut()?.remove("data");
            }
            if let Some(path) = compare::difference(&built, &found.body) {
                return Some(format!("{kind_name} {name}#{path}"));
            }
        }
        own.is_empty().then(|| "every object".to_owned())
    }

    fn leave_out(&self, report: &mut Report, reason: &str) {
        let key = format!("workloads[{}]", self.name);
        report.leave_out(Some(&key), self.source.clone(), reason);
    }
}

/// The workloads that gpuc built, by their label.
fn candidates<'s>(cx: &Context<'s>, surroundings: &Surroundings<'_, '_>) -> Vec<Candidate<'s>> {
    let teams = team_namespaces(surroundings.teams);
    let mut found = Vec::new();
    for test in tests::cuda_tests(cx, surroundings.pools) {
        let head = head((test.name, test.namespace), &teams, test.pool, None);
        let jobs = test.jobs.iter().map(|job| name_of("Job", job));
        found.push(Candidate {
            name: test.name.to_owned(),
            namespace: test.namespace.to_owned(),
            source: jobs.collect::<Vec<_>>().join(", "),
            head,
            task: ("cudaTest", entries_of(test.keys)),
            parts: Vec::new(),
            pods: None,
            patches: [None, None],
        });
    }
    for kind in KINDS {
        for object in cx.state.objects(kind.kind) {
            if object.metadata.label(WORKLOAD_LABEL) == Some(object.metadata.name.as_str()) {
                found.extend(candidate(cx, surroundings, &teams, (kind, object, object)));
            }
        }
    }
    for object in cx.state.objects(Kind::TrainJob) {
        let runtime = object.text("/spec/runtimeRef/name");
        let runtime = cx
            .state
            .object(Kind::TrainingRuntime, &object.metadata.namespace, runtime);
        if let Some(runtime) = runtime.filter(|_| object.metadata.label(WORKLOAD_LABEL).is_some()) {
            let restarts = number(
                &runtime.body,
                "/spec/template/spec/failurePolicy/maxRestarts",
            );
            let mut own = candidate(cx, surroundings, &teams, (&TRAIN_JOB, object, runtime));
            if let (Some(own), Some(restarts)) = (&mut own, restarts.filter(|it| *it != 0)) {
                own.task.1.push("restarts", Item::number(restarts));
            }
            found.extend(own);
        }
    }
    let mut names = BTreeSet::new();
    found.retain(|it| names.insert(it.name.clone()));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn entries_of(item: Item) -> Entries {
    match item.value {
        crate::tree::Value::Map(entries) => Entries(entries),
        _ => Entries::default(),
    }
}

/// The candidate of an object; its pods are in `of_pods`.
fn candidate<'s>(
    cx: &Context<'_>,
    surroundings: &Surroundings<'_, '_>,
    teams: &BTreeMap<String, TeamNamespace>,
    (kind, object, of_pods): (&'static TaskKind, &'s Object, &'s Object),
) -> Option<Candidate<'s>> {
    let metadata = &object.metadata;
    let (name, namespace) = (metadata.name.as_str(), metadata.namespace.as_str());
    let template = PodTemplate::new(&of_pods.body, kind.pods)?;
    let priority = text(template.spec, "/priorityClassName");
    let pool = template.pool(surroundings.pools);
    let mut candidate = Candidate {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        source: name_of(kind.kind.info().name, object),
        head: head((name, namespace), teams, pool, priority),
        task: (kind.key, Entries::default()),
        parts: Vec::new(),
        pods: None,
        patches: [None, None],
    };
    if let Some(test) = tests::fabric_test(object) {
        candidate.task = ("fabricTest", entries_of(test));
        return Some(candidate);
    }
    let gpus = template.gpus(cx, namespace);
    let has_many = gpus.count > 1 || kind.has_nodes;
    let mut keys = template.keys(has_many);
    let key = if kind.has_nodes {
        "gpusPerNode"
    } else {
        "gpus"
    };
    // A MIG device is the default with a profile.
    if gpus.count > u64::from(gpus.profile.is_some()) || kind.has_nodes {
        keys.push(key, Item::number(gpus.count));
    }
    keys.push_some("profile", gpus.profile.map(Item::text));
    (kind.add)(cx, object, &mut keys);
    candidate.task.1 = keys;
    candidate.parts = template.variables();
    candidate
        .parts
        .extend(template.volumes(cx, (name, namespace)));
    candidate.pods = Some((of_pods, kind.pods));
    Some(candidate)
}

fn head(
    (name, namespace): (&str, &str),
    teams: &BTreeMap<String, TeamNamespace>,
    pool: Option<&str>,
    priority: Option<&str>,
) -> Entries {
    let mut head = Entries::default();
    head.push("name", Item::text(name));
    let team = teams.get(namespace);
    head.push_some("team", team.map(|it| Item::text(&it.team)));
    let is_default = team.map_or(namespace == WORKLOADS_NAMESPACE, |it| it.is_first);
    if !is_default {
        head.push("namespace", Item::text(namespace));
    }
    head.push_some("pool", pool.map(Item::text));
    head.push_some("priority", priority.map(Item::text));
    head
}

/// The namespaces of the teams in the file.
fn team_namespaces(teams: &[Item]) -> BTreeMap<String, TeamNamespace> {
    let mut found = BTreeMap::new();
    for team in teams {
        let crate::tree::Value::Map(entries) = &team.value else {
            continue;
        };
        let get = |key: &str| {
            entries
                .iter()
                .find(|(own, _)| own == key)
                .map(|(_, it)| &it.value)
        };
        let Some(crate::tree::Value::Text(name)) = get("name") else {
            continue;
        };
        let names: Vec<String> = match get("namespaces") {
            Some(crate::tree::Value::List(items)) => items.iter().filter_map(text_of).collect(),
            _ => vec![name.clone()],
        };
        for (index, namespace) in names.into_iter().enumerate() {
            let team = TeamNamespace {
                team: name.clone(),
                is_first: index == 0,
            };
            found.insert(namespace, team);
        }
    }
    found
}

/// The text of an item, or of its name.
fn text_of(item: &Item) -> Option<String> {
    match &item.value {
        crate::tree::Value::Text(text) => Some(text.clone()),
        crate::tree::Value::Map(entries) => {
            let (_, item) = entries.iter().find(|(key, _)| key == "name")?;
            text_of(item)
        }
        _ => None,
    }
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
