//! Tests with clusters that gpuc did not build.

mod built;
mod clouds;
mod described;
mod dra;
mod hostile;
mod operator;
mod partial;
mod plugin;
mod teams;

use gpuc_compile::compile::{Options, compile};
use gpuc_live::read::read_files;
use gpuc_live::state::{ClusterState, KINDS};
use gpuc_model::Registry;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Levels, Report as Diagnostics, Severity};
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::source::Sources;
use serde_json::{Value, json};

use crate::{CloudFile, Import, Input, import};

/// The clouds and rules; the same as those of the program, without the codes of its phases.
static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: gpuc_checks::RULES,
    codes: || REGISTRY.codes_of_rules(),
};

/// The state of a cluster in which every kind is complete, apart from these names of kinds.
pub(crate) fn state_without(objects: &[Value], forbidden: &[&str]) -> ClusterState {
    let kinds: serde_json::Map<String, Value> = KINDS
        .iter()
        .map(|info| {
            let name = gpuc_live::read::resource_name(info.kind);
            let count = objects.iter().filter(|it| it["kind"] == info.name).count();
            let state = if forbidden.contains(&info.plural) {
                "forbidden"
            } else {
                "complete"
            };
            (name, json!({"state": state, "count": count}))
        })
        .collect();
    let manifest = json!({
        "version": 1, "gpuc": "0.1.0", "time": "2026-11-28T12:00:00Z", "serverVersion": "v1.36.2", "kinds": kinds,
    });
    let list = json!({"kind": "List", "apiVersion": "v1", "items": objects});
    let files = [
        ("gpuc-snapshot.json", manifest.to_string()),
        ("objects.json", list.to_string()),
    ];
    let paths = files.each_ref().map(|(path, _)| (*path).to_owned());
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found
            .map(|(_, text)| text.clone().into_bytes())
            .ok_or_else(String::new)
    };
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, []);
    state
}

/// The import of a complete cluster.
fn imported(objects: &[Value], cloud: &[Value]) -> Import {
    let state = state_without(objects, &[]);
    let files: Vec<CloudFile> = (cloud.iter())
        .map(|value| CloudFile::parse("cloud.json", value.to_string().as_bytes()).unwrap())
        .collect();
    let input = Input {
        state: &state,
        cloud: &files,
        context: None,
        builder: None,
    };
    import(input, &REGISTRY).unwrap()
}

/// The import of a cluster that a tree of gpuc runs in, with the objects of the tree that builds the file.
fn imported_with_builder(objects: &[Value], cloud: &[Value]) -> Import {
    let state = state_without(objects, &[]);
    let files: Vec<CloudFile> = (cloud.iter())
        .map(|value| CloudFile::parse("cloud.json", value.to_string().as_bytes()).unwrap())
        .collect();
    let input = Input {
        state: &state,
        cloud: &files,
        context: None,
        builder: Some(&build),
    };
    import(input, &REGISTRY).unwrap()
}

/// The Kubernetes objects of a file, or the errors.
fn build(text: &str) -> Result<Vec<Value>, Vec<String>> {
    let world = MemoryFiles::with_file("gpu-cluster.yaml", text);
    let (mut sources, mut report) = (Sources::default(), Diagnostics::default());
    let loaded = load::load_all(&world, &["gpu-cluster.yaml"], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for one in loaded {
        let compilation = compile(one, &options);
        let found = compilation.report.diagnostics().iter();
        let found = found.filter(|it| it.severity == Severity::Error);
        errors.extend(found.map(|it| format!("{}: {}", it.code.name, it.message)));
        let plan = compilation.plan.iter().flat_map(|plan| &plan.objects);
        objects.extend(plan.map(|it| serde_json::to_value(&it.node).unwrap()));
    }
    if errors.is_empty() {
        Ok(objects)
    } else {
        Err(errors)
    }
}

/// The file as a second, independent parser reads it.
fn read(import: &Import) -> Value {
    serde_yaml::from_str(&import.yaml).unwrap_or_else(|error| panic!("{error}:\n{}", import.yaml))
}

/// The errors of a build of the file, as `code: message`.
fn errors(import: &Import) -> Vec<String> {
    let world = MemoryFiles::with_file("gpu-cluster.yaml", &import.yaml);
    let (mut sources, mut report) = (Sources::default(), Diagnostics::default());
    let loaded = load::load_all(&world, &["gpu-cluster.yaml"], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let compilations = loaded.into_iter().map(|one| compile(one, &options).report);
    let reports: Vec<_> = compilations.chain([report]).collect();
    let found = reports.iter().flat_map(Diagnostics::diagnostics);
    found
        .filter(|it| it.severity == Severity::Error)
        .map(|it| format!("{}: {}", it.code.name, it.message))
        .collect()
}

/// The pool with a name in the file.
fn pool(import: &Import, name: &str) -> Value {
    let file = read(import);
    let pools = file["nodePools"].as_array().unwrap();
    let found = pools.iter().find(|it| it["name"] == name);
    found
        .unwrap_or_else(|| panic!("no pool {name}:\n{}", import.yaml))
        .clone()
}

/// A node with labels, taints (`key=value:effect`) and resources.
fn node(name: &str, labels: &Value, taints: &[&str], resources: &Value) -> Value {
    let taints: Vec<Value> = taints
        .iter()
        .map(|taint| {
            let (pair, effect) = taint.rsplit_once(':').unwrap();
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({"key": key, "value": value, "effect": effect})
        })
        .collect();
    let mut all = json!({"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"});
    for (key, value) in labels.as_object().unwrap() {
        all[key] = value.clone();
    }
    let mut capacity = json!({"cpu": "32", "memory": "128Gi", "pods": "110"});
    for (key, value) in resources.as_object().unwrap() {
        capacity[key] = value.clone();
    }
    json!({
        "kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": all},
        "spec": {"taints": taints},
        "status": {"capacity": capacity, "allocatable": capacity, "nodeInfo": {"kubeletVersion": "v1.36.2"}},
    })
}

/// The same node with a providerID.
fn provided(mut node: Value, id: &str) -> Value {
    node["spec"]["providerID"] = id.into();
    node
}

/// A pod of a DaemonSet on a node, with one container.
fn daemon_pod(namespace: &str, set: &str, node: &str, image: &str, container: &str) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": format!("{set}-{node}"), "namespace": namespace,
            "ownerReferences": [{"kind": "DaemonSet", "name": set, "controller": true}],
        },
        "spec": {"nodeName": node, "containers": [{"name": container, "image": image}]},
        "status": {"phase": "Running"},
    })
}

/// A ConfigMap.
fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

/// The keys of the entries of a report.
fn keys(entries: &[crate::Entry]) -> Vec<&str> {
    entries.iter().filter_map(|it| it.key.as_deref()).collect()
}
