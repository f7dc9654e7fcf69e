//! Whether `verify.sh` sees what is well and what is not.

use std::collections::BTreeMap;

use gpuc::plan::Expectation;
use serde_json::{Value, json};

use super::life::Case;
use super::stage::{Run, Stage};

/// A healthy cluster passes, with and without pods; each thing that ails it fails with its reason.
pub(crate) fn healthy_and_not(case: &Case) {
    let stage = case.applied();
    let healthy = healthy(&stage);
    stage.set_state(&healthy);
    stage.run("verify.sh", &["--no-pods"]).went_well().changed_nothing();
    sees_gpus(&stage);
    assert_eq!(pods(&stage.state()), pods(&healthy), "no pod is left behind");

    for expectation in &stage.plan.expectations {
        let pool = &expectation.pool;
        if expectation.min_nodes > 0 {
            let fewer = format!("pool {pool}: {} nodes are ready, and not {}", expectation.min_nodes - 1, expectation.min_nodes);
            fails(&stage, &healthy, &fewer, |state| {
                let name = name(expectation, 0);
                state["nodes"].as_object_mut().unwrap().remove(&name);
            });
        }
        fails(&stage, &healthy, &format!("pool {pool}: "), |state| {
            let node = &mut state["nodes"][name(expectation, 0)];
            node["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown"}]);
        });
        for (resource, count) in &expectation.allocatable {
            let short = format!("pool {pool}: a node must have {count} {resource}: {} has 0", name(expectation, 0));
            if *count > 0 {
                fails(&stage, &healthy, &short, |state| {
                    let node = &mut state["nodes"][name(expectation, 0)];
                    node["status"]["allocatable"][resource] = json!("0");
                });
            }
        }
        if let Some((namespace, name)) = &expectation.daemon_set {
            let key = format!("daemonset/{namespace}/{name}");
            let idle = format!("DaemonSet {namespace}/{name} wants to run on no node");
            fails(&stage, &healthy, &idle, |state| {
                state["objects"][&key]["status"] = json!({"desiredNumberScheduled": 0, "numberReady": 0});
            });
            let behind = format!("DaemonSet {namespace}/{name} is ready on 1 of 2 nodes");
            fails(&stage, &healthy, &behind, |state| {
                state["objects"][&key]["status"] = json!({"desiredNumberScheduled": 2, "numberReady": 1});
            });
            let absent = format!("DaemonSet {namespace}/{name} is not there");
            fails(&stage, &healthy, &absent, |state| {
                state["objects"].as_object_mut().unwrap().remove(&key);
            });
        }
    }
}

fn sees_gpus(stage: &Stage) {
    let arguments = ["--image", "nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04", "--timeout", "4"];
    let run = stage.run("verify.sh", &arguments).went_well();
    for expectation in &stage.plan.expectations {
        for (resource, count) in &expectation.allocatable {
            let sees = format!("pool {}: a pod with one {resource} sees GPU 0", expectation.pool);
            assert!(*count == 0 || run.said.contains(&sees), "{sees}\n{}", run.said);
        }
    }
}

fn fails(stage: &Stage, healthy: &Value, why: &str, ail: impl FnOnce(&mut Value)) -> Run {
    let mut state = healthy.clone();
    ail(&mut state);
    assert_ne!(&state, healthy, "{why}");
    stage.set_state(&state);
    let run = stage.run("verify.sh", &["--no-pods"]);
    assert_eq!(run.code, 1, "{why}\n{}", run.said);
    let told = run.said.lines().any(|line| line.starts_with("FAILED") && line.contains(why));
    assert!(told, "not told: {why}\n{}", run.said);
    run.changed_nothing()
}

/// The state with the nodes that every pool has at least, one more for those that may have none, and what serves them.
pub(crate) fn healthy(stage: &Stage) -> Value {
    let mut state = stage.state();
    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for expectation in &stage.plan.expectations {
        let count = expectation.min_nodes.max(1);
        for number in 0..count {
            let name = name(expectation, number);
            state["nodes"][&name] = node(stage, expectation, &name);
        }
        if let Some((namespace, name)) = &expectation.daemon_set {
            *served.entry(format!("{namespace}/{name}")).or_default() += count;
        }
    }
    for (path, count) in served {
        let (namespace, name) = path.split_once('/').unwrap();
        state["objects"][format!("daemonset/{path}")] = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": namespace},
            "status": {"desiredNumberScheduled": count, "numberReady": count},
        });
    }
    state
}

fn name(expectation: &Expectation, number: u32) -> String {
    let pool: String = expectation.pool.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("node-{pool}-{number}")
}

fn node(stage: &Stage, expectation: &Expectation, name: &str) -> Value {
    let pool = stage.cluster.pool(&expectation.pool).unwrap();
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    labels.extend(pool.labels.iter().map(|label| (&*label.key, &*label.value)));
    labels.extend(expectation.selector.iter().map(|(key, value)| (&**key, &**value)));
    let taints = pool.taints.iter().map(|taint| {
        json!({"key": taint.key, "value": taint.value, "effect": format!("{:?}", taint.effect)})
    });
    let allocatable = expectation.allocatable.iter();
    let allocatable: BTreeMap<_, _> = allocatable.map(|(key, count)| (key, count.to_string())).collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints.collect::<Vec<_>>()},
        "status": {
            "allocatable": allocatable,
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": "True"},
            ],
        },
    })
}

fn pods(state: &Value) -> Vec<&String> {
    let objects = state["objects"].as_object().unwrap().keys();
    objects.filter(|key| key.starts_with("pod/")).collect()
}
