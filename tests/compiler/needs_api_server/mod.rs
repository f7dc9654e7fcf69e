//! A real API server accepts the objects of every example, with strict validation and without a warning, and does not
//! change anything when they are applied a second time.
//!
//! `GPUC_KUBECONFIG` is the file of an API server for tests, with cluster-admin rights: objects are created and not
//! deleted. `GPUC_UPSTREAM` has the definitions of custom resources, which are applied first.

mod drift;
mod proofs;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::corpus::{Case, cases};

/// The API groups of objects that no API server reads: the input of kustomize, eksctl and gpuc.
const LOCAL_GROUPS: &[&str] = &[
    "eksctl.io",
    "gpuc.dev",
    "kustomize.config.k8s.io",
    "node.gpuc.dev",
];

/// API groups without a public definition.
const UNDEFINED_GROUPS: &[&str] = &["compute.coreweave.com", "networking.gke.io"];

/// Held by each test: all of them change the same objects.
static SERVER: Mutex<()> = Mutex::new(());

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is set"))
}

/// Runs kubectl. Returns its output and what it printed to standard error.
fn kubectl(arguments: &[&str], input: &str) -> Result<(String, String), String> {
    let folder = std::env::var_os("GPUC_KUBE_LAB").map(PathBuf::from);
    let program = folder.map_or_else(|| "kubectl".into(), |folder| folder.join("kubectl"));
    let mut process = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", variable("GPUC_KUBECONFIG"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = process.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, errors) = (text(output.stdout), text(output.stderr));
    // kubectl exits before it has read everything if an object is invalid.
    let _ = writer.join().unwrap();
    if output.status.success() {
        Ok((out, errors))
    } else {
        Err(errors)
    }
}

/// Applies objects. Returns them as the server stores them, and the warnings.
fn apply(objects: &[Value]) -> Result<(Vec<Value>, String), String> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=gpuc",
        "--validate=strict",
        "--output=json",
        "--filename=-",
    ];
    let (out, warnings) = kubectl(&arguments, &list)?;
    let mut stored: Value = serde_json::from_str(&out).unwrap();
    let items = match stored["items"].take() {
        Value::Array(items) => items,
        _ => vec![stored],
    };
    Ok((items, warnings))
}

fn group(object: &Value) -> &str {
    let version = object["apiVersion"].as_str().unwrap();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The objects of a tree that are applied to a cluster.
fn objects(case: &Case) -> Vec<Value> {
    let mut objects = Vec::new();
    for (path, file) in case.tree().files() {
        if Path::new(path).extension().is_none_or(|it| it != "yaml") {
            continue;
        }
        for document in serde_yaml::Deserializer::from_str(&file.contents) {
            let Ok(value) = Value::deserialize(document) else {
                continue;
            };
            if value["apiVersion"].is_string() && value["kind"].is_string() {
                objects.push(value);
            }
        }
    }
    objects.retain(|object| {
        !LOCAL_GROUPS.contains(&group(object)) && !UNDEFINED_GROUPS.contains(&group(object))
    });
    objects
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn define_custom_resources() {
    let folder = format!("{}/crds", variable("GPUC_UPSTREAM"));
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "-R",
        "-f",
        &folder,
    ];
    kubectl(&arguments, "").unwrap();
    let arguments = [
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ];
    kubectl(&arguments, "").unwrap();
}

/// The objects by their identity, without the fields that a server writes on each request.
fn contents(items: &[Value]) -> BTreeMap<String, Value> {
    let items = items.iter().map(|it| {
        let mut object = it.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("resourceVersion");
        let metadata = &it["metadata"];
        let identity = format!(
            "{} {} {}",
            it["kind"], metadata["namespace"], metadata["name"]
        );
        (identity, object)
    });
    items.collect()
}

#[test]
#[ignore = "needs an API server for tests"]
fn manifests_are_accepted_twice() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    define_custom_resources();
    let is_complete = |case: &&Case| case.name.contains('/');
    let mut problems = Vec::new();
    let mut seen = 0;
    for case in cases().iter().filter(is_complete) {
        let objects = objects(case);
        if objects.is_empty() {
            continue;
        }
        let defined: BTreeSet<_> = objects
            .iter()
            .filter(|it| it["kind"] == "Namespace")
            .filter_map(|it| it["metadata"]["name"].as_str())
            .collect();
        let used = objects.iter();
        let used = used.filter_map(|it| it["metadata"]["namespace"].as_str());
        let missing: BTreeSet<_> = used.filter(|name| !defined.contains(name)).collect();
        let mut first: Vec<Value> = missing.into_iter().map(namespace).collect();
        first.extend(defined.iter().map(|name| namespace(name)));
        if !first.is_empty() {
            apply(&first).unwrap();
        }
        let (applied, again) = match apply(&objects).and_then(|it| Ok((it, apply(&objects)?))) {
            Ok(results) => results,
            Err(error) => {
                problems.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        seen += objects.len();
        if !applied.1.is_empty() {
            problems.push(format!("{}: {}", case.name, applied.1));
        }
        let (before, after) = (contents(&applied.0), contents(&again.0));
        assert_eq!(before.len(), objects.len(), "{}", case.name);
        for (identity, object) in before {
            if after[&identity] != object {
                problems.push(format!("{}: {identity} changed", case.name));
            }
        }
        // Other clusters have other objects of the same name, and some fields cannot be changed.
        let kept =
            |it: &&Value| it["kind"] != "Namespace" && it["metadata"]["finalizers"].is_null();
        let deleted: Vec<_> = objects.iter().filter(kept).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": deleted}).to_string();
        kubectl(&["delete", "--wait=false", "--filename=-"], &list).unwrap();
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(seen > 1000, "only {seen} objects");
}

#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_snapshots_are_complete() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let name = |index: usize| format!("snapshot-{index:04}");
    let mut objects: Vec<Value> = (0..700)
        .map(|index| {
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name(index), "namespace": "default"},
                "data": {"password": "hunter2"},
            })
        })
        .collect();
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "snapshot-gpu",
            "labels": {"node.kubernetes.io/instance-type": "p5.48xlarge"},
        },
    }));
    apply(&objects).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("case");
    let gpuc = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc"));
        command
            .args(arguments)
            .current_dir(folder.path())
            .env("KUBECONFIG", variable("GPUC_KUBECONFIG"));
        let output = command.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    gpuc(&["snapshot", "--out", "case"]);
    let manifest = std::fs::read_to_string(out.join("gpuc-snapshot.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let incomplete: Vec<_> = (manifest["kinds"].as_object().unwrap().iter())
        .filter(|(_, entry)| !["complete", "notServed"].contains(&entry["state"].as_str().unwrap()))
        .collect();
    assert!(incomplete.is_empty(), "{incomplete:?}");
    // More than one page.
    let count = manifest["kinds"]["configmaps"]["count"].as_u64().unwrap();
    let (listed, _) = kubectl(
        &["get", "configmaps", "--all-namespaces", "--output=name"],
        "",
    )
    .unwrap();
    assert_eq!(count, listed.lines().count() as u64);
    assert!(count >= 700, "{count}");
    for (path, text) in crate::support::files_below(&out) {
        assert!(!text.contains("hunter2"), "{path}");
    }
    // The API server and the snapshot give the same answer.
    let live: Value = serde_json::from_str(&gpuc(&["doctor", "--format", "json"])).unwrap();
    let read = gpuc(&["doctor", "--from", "case", "--format", "json"]);
    let read: Value = serde_json::from_str(&read).unwrap();
    assert_eq!(live, read);
    assert!(live["totals"]["gpuNodes"].as_u64() >= Some(1));
}
