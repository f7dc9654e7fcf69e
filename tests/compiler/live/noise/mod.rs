//! What a healthy cluster shows in every production: updates, nodes that come and go, Jobs that ended, and old events.
//!
//! The objects follow from what Kubernetes, autoscalers and clouds write by their documentation, and not from the
//! checks of `gpuc doctor`.

mod nodes;
mod objects;
mod workloads;

use serde_json::{Value, json};

use super::diagnose_with;
use super::healthy::{Healthy, healthy_clusters};
use nodes::{drain, reclaim, restart_kubelet, scale_down, scale_up, upgrade_driver};
use workloads::{end_jobs, queue_up, remember, replace_plugin, roll_update, start_slowly};

/// A kind of noise, and a function that adds it.
type Noise = (&'static str, fn(&mut Vec<Value>));

const NOISE: &[Noise] = &[
    ("rolling update", roll_update),
    ("scale-up", scale_up),
    ("scale-down", scale_down),
    ("spot", reclaim),
    ("drain", drain),
    ("driver upgrade", upgrade_driver),
    ("kubelet restart", restart_kubelet),
    ("slow start", start_slowly),
    ("jobs", end_jobs),
    // The others copy nodes: this one changes a node.
    ("new device plugin", replace_plugin),
    ("old events", remember),
    ("queue", queue_up),
];

/// Texts of the past in logs of the GPU stack, whose pods are ready.
fn old_logs(objects: &[Value]) -> Vec<(String, String)> {
    let pods = objects.iter().filter(|it| {
        let mut conditions = it["status"]["conditions"].as_array().into_iter().flatten();
        it["kind"] == "Pod"
            && it["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"
            && conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    });
    let text = "Failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND\n\
                No devices found. Waiting indefinitely.\n\
                Could not resolve Linux kernel version\n\
                retrying: connection refused\n\
                ready\n";
    pods.map(|pod| {
        let metadata = &pod["metadata"];
        let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
        let path = format!(
            "logs/{}/{}/main.previous.log",
            namespace.as_str().unwrap_or("default"),
            name.as_str().unwrap()
        );
        (path, text.to_owned())
    })
    .collect()
}

fn check(healthy: &Healthy, name: &str, objects: &[Value], wrong: &mut Vec<String>) {
    // The lists are complete, as those of a snapshot.
    let empty =
        |kind: &str, version: &str| json!({"kind": kind, "apiVersion": version, "items": []});
    let mut files = vec![
        (
            "daemonsets.json".to_owned(),
            empty("DaemonSetList", "apps/v1").to_string(),
        ),
        (
            "events.json".to_owned(),
            empty("EventList", "v1").to_string(),
        ),
    ];
    files.extend(old_logs(objects));
    for has_file in [true, false] {
        let (diagnosis, text) = diagnose_with(healthy, objects, &files, has_file);
        if !diagnosis.causes.is_empty() {
            let (text, _) = text
                .split_once("checks could not run")
                .unwrap_or((&text, ""));
            wrong.push(format!("{name} in {} {has_file}:\n{text}", healthy.name));
        }
    }
}

#[test]
fn noise_of_production_has_no_findings() {
    let mut wrong = Vec::new();
    let clusters = healthy_clusters();
    for healthy in &clusters {
        let mut all = healthy.objects.clone();
        for (name, add) in NOISE {
            let mut objects = healthy.objects.clone();
            add(&mut objects);
            check(healthy, name, &objects, &mut wrong);
            add(&mut all);
        }
        check(healthy, "all noise", &all, &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        clusters.len() * (NOISE.len() + 1),
        wrong.join("\n")
    );
}

#[test]
fn every_noise_changes_clusters() {
    let clusters = healthy_clusters();
    for (name, add) in NOISE {
        let changed = clusters.iter().filter(|healthy| {
            let mut objects = healthy.objects.clone();
            add(&mut objects);
            objects != healthy.objects
        });
        let count = changed.count();
        // Few examples have queues or the GPU Operator.
        let least = if ["queue", "driver upgrade"].contains(name) {
            2
        } else {
            40
        };
        assert!(count >= least, "{name} changes {count} clusters");
    }
}
