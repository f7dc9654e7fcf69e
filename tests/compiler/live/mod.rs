//! `gpuc doctor` on clusters that follow from trees: it finds nothing in healthy ones, and each planted fault.

mod faults;
pub(crate) mod healthy;
mod noise;

use std::collections::BTreeSet;

use gpuc_live::doctor::{Diagnosis, diagnose, render};
use gpuc_live::read::read_files;
use serde_json::{Value, json};

use healthy::{Healthy, healthy_clusters};

/// The diagnosis of objects in a cluster, and its text.
fn diagnose_objects(healthy: &Healthy, objects: &[Value]) -> (Diagnosis, String) {
    diagnose_files(healthy, objects, &[])
}

/// The diagnosis of objects and container logs in a cluster, and its text.
fn diagnose_files(
    healthy: &Healthy,
    objects: &[Value],
    logs: &[(String, String)],
) -> (Diagnosis, String) {
    diagnose_with(healthy, objects, logs, true)
}

/// The same, with or without the file of the cluster.
fn diagnose_with(
    healthy: &Healthy,
    objects: &[Value],
    logs: &[(String, String)],
    has_file: bool,
) -> (Diagnosis, String) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut files = vec![("objects.json".to_owned(), list.to_string())];
    files.extend(logs.iter().cloned());
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| name == path);
        found
            .map(|(_, text)| text.clone().into_bytes())
            .ok_or_else(String::new)
    };
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, [], "{}", healthy.name);
    let cluster = healthy.outcome.compilations[healthy.index].cluster.as_ref();
    let diagnosis = diagnose(&state, cluster.filter(|_| has_file), &gpuc::REGISTRY);
    let text = render::text(&diagnosis, &state, &healthy.outcome.sources);
    (diagnosis, text)
}

#[test]
fn healthy_clusters_have_no_findings() {
    let mut wrong = Vec::new();
    let clusters = healthy_clusters();
    assert!(clusters.len() > 40, "{}", clusters.len());
    for healthy in &clusters {
        for has_file in [true, false] {
            let (diagnosis, text) = diagnose_with(healthy, &healthy.objects, &[], has_file);
            if !diagnosis.causes.is_empty() {
                wrong.push(format!("{} {has_file}:\n{text}", healthy.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing follows from objects that were not read.
#[test]
fn healthy_clusters_have_no_findings_if_a_kind_is_missing() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for healthy in &healthy_clusters() {
        let kinds: BTreeSet<&str> = (healthy.objects.iter())
            .filter_map(|object| object["kind"].as_str())
            .collect();
        for missing in &kinds {
            // Without this kind, and with this kind only.
            for keeps in [false, true] {
                let is_kept = |object: &&Value| (object["kind"] == **missing) == keeps;
                let objects: Vec<Value> = healthy.objects.iter().filter(is_kept).cloned().collect();
                let (diagnosis, text) = diagnose_objects(healthy, &objects);
                if !diagnosis.causes.is_empty() {
                    wrong.push(format!("{} {missing} {keeps}:\n{text}", healthy.name));
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}: {}",
        wrong.len(),
        wrong.join("\n")
    );
}
