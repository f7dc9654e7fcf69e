//! A workload of the cluster, and the item of the file that builds it.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_model::{WORKLOAD_LABEL, WORKLOADS_NAMESPACE};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{number, text};
use crate::report::Report;
use crate::tree::{Entries, Item};

use super::kinds::{KINDS, TRAIN_JOB, TaskKind};
use super::pods::{Part, PodTemplate};
use super::{Surroundings, compare, json_item, patches, tests};

/// A workload of the cluster that the file may contain.
pub(super) struct Candidate<'s> {
    pub(super) name: String,
    pub(super) namespace: String,
    /// The notation of the main object.
    pub(super) source: String,
    /// The keys before the task: name, team, namespace, pool, priority.
    pub(super) head: Entries,
    /// The key of the task, and its keys without environment variables and volumes.
    pub(super) task: (&'static str, Entries),
    /// The environment variables and volumes that the file has to set.
    pub(super) parts: Vec<Part>,
    /// Where the main object has the `spec` of its pods, if it has such parts.
    pub(super) pods: Option<(&'s Object, &'static str)>,
    /// The patches of the pods and of the object.
    pub(super) patches: [Option<Value>; 2],
}

/// The team of a namespace, and whether the namespace is its first.
struct TeamNamespace {
    team: String,
    is_first: bool,
}

impl Candidate<'_> {
    /// The patch of the pods, or of the object, that makes the built object the one of the cluster.
    pub(super) fn patch(&self, objects: &[Value], is_of_pods: bool) -> Option<Value> {
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
    pub(super) fn item(&self) -> Item {
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

    pub(super) fn without_parts(&self) -> Self {
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
    pub(super) fn set_parts(&mut self, parts: &[Part], objects: &[Value]) {
        let mut built = objects.iter().filter(|it| self.owns(it));
        let built = built.find_map(|it| PodTemplate::new(it, self.pods?.1));
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
    pub(super) fn owns(&self, object: &Value) -> bool {
        let label = object
            .pointer("/metadata/labels")
            .and_then(|it| it.get(WORKLOAD_LABEL));
        label.and_then(Value::as_str) == Some(self.name.as_str())
            && text(object, "/metadata/namespace") == Some(self.namespace.as_str())
    }

    /// The first field in which an object of the tree differs from the cluster.
    pub(super) fn difference(&self, cx: &Context<'_>, objects: &[Value]) -> Option<String> {
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

    pub(super) fn leave_out(&self, report: &mut Report, reason: &str) {
        let key = format!("workloads[{}]", self.name);
        report.leave_out(Some(&key), self.source.clone(), reason);
    }
}

/// The workloads that gpuc built, by their label.
pub(super) fn candidates<'s>(
    cx: &Context<'s>,
    surroundings: &Surroundings<'_, '_>,
) -> Vec<Candidate<'s>> {
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
