//! `kubectl kustomize` builds exactly the expected objects from the manifests of every cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use gpuc_model::plan::Delivery;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::corpus::{Case, cases};

/// Every folder that Flux or Argo CD syncs builds to exactly its own objects, and so does the cluster's folder.
#[test]
#[ignore = "needs kubectl"]
fn synced_folders_build_with_kustomize() {
    let mut seen = 0;
    for case in cases() {
        let Delivery::Gitops {
            folder, objects, ..
        } = &case.plan().delivery
        else {
            continue;
        };
        let tree = write_tree(case);
        let of = |component: &str| {
            let objects = objects.iter().filter(|it| it.component == component);
            let values = objects.map(|it| serde_json::to_value(&it.node).unwrap());
            sorted(values.collect())
        };
        let components: BTreeSet<_> = objects.iter().map(|it| it.component.as_str()).collect();
        for component in components {
            let path = format!("{folder}/{component}");
            let built = kustomize(&tree.path().join(path.trim_end_matches('/')));
            assert_eq!(built, Ok(of(component)), "{}: {path}", case.name);
            seen += 1;
        }
        assert_eq!(kustomize(tree.path()), Ok(of("")), "{}", case.name);
        let parts: BTreeSet<_> = case.plan().objects.iter().map(|it| &it.component).collect();
        for part in parts {
            let built = kustomize(&tree.path().join("manifests").join(part));
            assert!(
                built.is_ok_and(|it| !it.is_empty()),
                "{}: {part}",
                case.name
            );
        }
    }
    assert!(seen > 10, "{seen} folders");
}

#[test]
#[ignore = "needs kubectl"]
fn kustomize_output_is_as_expected() {
    let mut seen = BTreeMap::new();
    for case in cases() {
        let meant = objects(case);
        if !meant.is_empty() {
            let key = serde_json::to_string(&meant).unwrap();
            seen.entry(key).or_insert((case, meant));
        }
    }
    // kubectl spends most of its time waiting, so that two runs in parallel are faster.
    let cases: Vec<_> = seen.into_values().collect();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let (left, right) = cases.split_at(cases.len() / 2);
        let runs = [left, right].map(|half| scope.spawn(|| check(half)));
        runs.into_iter()
            .flat_map(|run| run.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(cases: &[(&Case, Vec<Value>)]) -> Vec<String> {
    let wrong = cases.iter().filter_map(|(case, meant)| {
        let built = kustomize_tree(case);
        (built.as_ref() != Ok(meant)).then(|| {
            let count = built.as_ref().map_or(0, Vec::len);
            let error = built.err().unwrap_or_default();
            format!(
                "{}: {} objects, not {}: {error}",
                case.name,
                count,
                meant.len()
            )
        })
    });
    wrong.collect()
}

fn objects(case: &Case) -> Vec<Value> {
    let objects = case.plan().objects.iter();
    let objects = objects.map(|object| serde_json::to_value(&object.node).unwrap());
    sorted(objects.collect())
}

/// The objects that kustomize builds from the tree.
fn kustomize_tree(case: &Case) -> Result<Vec<Value>, String> {
    kustomize(&write_tree(case).path().join("manifests"))
}

/// Writes the tree to disk.
fn write_tree(case: &Case) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, file) in case.tree().files() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.contents).unwrap();
    }
    folder
}

/// The objects that kustomize builds from a folder.
fn kustomize(folder: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new("kubectl")
        .arg("kustomize")
        .arg(folder)
        .output()
        .expect("this test needs kubectl");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let documents = serde_yaml::Deserializer::from_str(&text);
    let objects = documents.map(|document| Value::deserialize(document).unwrap());
    Ok(sorted(objects.collect()))
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    let key = |object: &Value| {
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        [
            part(&object["kind"]),
            part(&metadata["namespace"]),
            part(&metadata["name"]),
        ]
    };
    objects.sort_by_key(key);
    objects
}
