//! `gpuc doctor` on clusters that follow from trees: it finds nothing in healthy ones, and each planted fault.

mod faults;
mod healthy;

use gpuc_live::doctor::{Diagnosis, diagnose, render};
use gpuc_live::read::read_files;
use serde_json::{Value, json};

use healthy::{Healthy, healthy_clusters};

/// The diagnosis of objects in a cluster, and its text.
fn diagnose_objects(healthy: &Healthy, objects: &[Value]) -> (Diagnosis, String) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let text = list.to_string();
    let load = |_: &str| Ok(text.clone().into_bytes());
    let (state, problems) = read_files(&["objects.json".to_owned()], &load);
    assert_eq!(problems, [], "{}", healthy.name);
    let cluster = healthy.outcome.compilations[healthy.index].cluster.as_ref();
    let diagnosis = diagnose(&state, cluster, &gpuc::REGISTRY);
    let text = render::text(&diagnosis, &state, &healthy.outcome.sources);
    (diagnosis, text)
}

#[test]
fn healthy_clusters_have_no_findings() {
    let mut wrong = Vec::new();
    let clusters = healthy_clusters();
    assert!(clusters.len() > 40, "{}", clusters.len());
    for healthy in &clusters {
        let (diagnosis, text) = diagnose_objects(healthy, &healthy.objects);
        if !diagnosis.causes.is_empty() {
            wrong.push(format!("{}:\n{text}", healthy.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
