//! `verify.sh` detects what is healthy and what is not.

use std::collections::BTreeMap;

use gpuc_model::plan::Expectation;
use gpuc_schema::node_config::STARTUP_TAINT;
use serde_json::{Value, json};

use super::environment::Environment;
use super::lifecycle::Case;

/// A healthy cluster passes, with and without pods; each fault fails with its reason.
pub(crate) fn assert_health_is_verified(case: &Case) {
    let stage = case.stage_after_first_run();
    let healthy = healthy_state(&stage);
    stage.set_state(&healthy);
    stage
        .run("verify.sh", &["--no-pods"])
        .expect_success()
        .expect_no_changes();
    assert_gpu_test_runs(&stage);
    assert_eq!(
        pods(&stage.state()),
        pods(&healthy),
        "no pod is left behind"
    );

    let expectations = &stage.plan.expectations;
    let first = |expectation: &Expectation| node_names(&stage.state(), expectation)[0].clone();
    let firsts: Vec<_> = expectations.iter().map(|it| (it, first(it))).collect();

    assert_node_faults_are_found(&stage, &healthy, &firsts);
    assert_missing_devices_are_found(&stage, &healthy, &firsts);
    assert_daemon_set_faults_are_found(&stage, &healthy);
}

/// Each pool, with the name of one of its nodes.
type FirstNodes<'e> = [(&'e Expectation, String)];

fn assert_node_faults_are_found(stage: &Environment, healthy: &Value, firsts: &FirstNodes<'_>) {
    let mut told = Vec::new();
    let mut world = healthy.clone();
    for (expectation, name) in firsts {
        let (pool, fewest) = (&expectation.pool, expectation.min_nodes);
        if fewest > 0 {
            let left = fewest - 1;
            told.push(format!(
                "pool {pool}: {left} nodes ready, expected at least {fewest}"
            ));
            world["nodes"].as_object_mut().unwrap().remove(name);
        }
    }
    assert_fails_with(stage, &world, &told);

    let mut told = Vec::new();
    let mut world = healthy.clone();
    for (expectation, name) in firsts {
        told.push(format!("pool {}: ", expectation.pool));
        let conditions = json!([{"type": "Ready", "status": "Unknown"}]);
        world["nodes"][name]["status"]["conditions"] = conditions;
    }
    assert_fails_with(stage, &world, &told);

    // Whose GPUs are still to be cut takes no pods, however ready the kubelet is.
    let mut told = Vec::new();
    let mut world = healthy.clone();
    for (expectation, name) in firsts {
        let pool = &expectation.pool;
        told.push(format!(
            "pool {pool}: gpuc-runtime has not partitioned the GPUs of {name} yet; their"
        ));
        let taint = json!({"key": STARTUP_TAINT, "value": "starting", "effect": "NoSchedule"});
        world["nodes"][name]["spec"]["taints"] = json!([taint]);
    }
    assert_fails_with(stage, &world, &told);
}

fn assert_missing_devices_are_found(stage: &Environment, healthy: &Value, firsts: &FirstNodes<'_>) {
    let mut told = Vec::new();
    let mut world = healthy.clone();
    for (expectation, name) in firsts {
        let pool = &expectation.pool;
        let some = expectation
            .allocatable
            .iter()
            .filter(|(_, count)| **count > 0);
        for (resource, count) in some {
            let has = count - 1;
            told.push(format!(
                "pool {pool}: expected {count} {resource} per node: {name} has {has}"
            ));
            world["nodes"][name]["status"]["allocatable"][resource] = json!(has.to_string());
        }
    }
    assert_fails_with(stage, &world, &told);

    let mut told = Vec::new();
    let mut world = healthy.clone();
    for (expectation, name) in firsts {
        for devices in &expectation.devices {
            let (class, count, has) = (&devices.class, devices.per_node, devices.per_node - 1);
            told.push(format!(
                "pool {}: expected {count} devices of class {class} per node: {name} has {has}",
                expectation.pool
            ));
            let slice = &mut world["objects"][format!("resourceslice//{name}")];
            slice["spec"]["devices"].as_array_mut().unwrap().pop();
        }
    }
    if !told.is_empty() {
        assert_fails_with(stage, &world, &told);
    }
}

fn assert_daemon_set_faults_are_found(stage: &Environment, healthy: &Value) {
    let expectations = &stage.plan.expectations;
    let status = |seen: u32, desired: u32, updated: u32, ready: u32| {
        json!({
            "observedGeneration": seen, "desiredNumberScheduled": desired, "updatedNumberScheduled": updated,
            "numberReady": ready,
        })
    };
    for (status, ails) in [
        (status(3, 0, 0, 0), ": 0 desired pods"),
        (status(3, 2, 2, 1), ": ready on 1 of 2 nodes"),
        (status(3, 2, 1, 2), ": updated on 1 of 2 nodes"),
        (
            status(2, 2, 2, 2),
            ": the controller has not observed the latest generation",
        ),
        (Value::Null, " not found"),
    ] {
        let mut told = Vec::new();
        let mut world = healthy.clone();
        for (namespace, name) in expectations.iter().flat_map(|it| &it.daemon_sets) {
            let objects = world["objects"].as_object_mut().unwrap();
            let mut object = objects
                .remove(&format!("daemonset/{namespace}/{name}"))
                .unwrap();
            if !status.is_null() {
                object["status"] = status.clone();
                objects.insert(format!("daemonset/{namespace}/{name}"), object);
            }
            told.push(format!("DaemonSet {namespace}/{name}{ails}"));
        }
        assert_fails_with(stage, &world, &told);
    }
}

fn assert_gpu_test_runs(stage: &Environment) {
    let arguments = [
        "--image",
        "nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04",
        "--timeout",
        "4",
    ];
    let run = stage.run("verify.sh", &arguments).expect_success();
    for expectation in &stage.plan.expectations {
        for (resource, count) in &expectation.allocatable {
            let sees = format!(
                "pool {}: a pod with one {resource} sees GPU 0",
                expectation.pool
            );
            assert!(
                *count == 0 || run.stderr.contains(&sees),
                "{sees}\n{}",
                run.stderr
            );
        }
        for devices in &expectation.devices {
            let class = &devices.class;
            let sees = format!(
                "pool {}: a pod with one device of class {class} sees GPU 0",
                expectation.pool
            );
            assert!(run.stderr.contains(&sees), "{sees}\n{}", run.stderr);
        }
    }
}

/// What the driver for claims describes of a node: what is wanted, and what only looks like it.
fn resource_slices(node: &str, expectation: &Expectation) -> Value {
    let device = |kind: &str, profile: Option<&str>| {
        let mut device = json!({"attributes": {"type": {"string": kind}}});
        if let Some(profile) = profile {
            device["attributes"]["profile"] = json!({"string": profile});
        }
        device
    };
    let wanted = expectation.devices.iter().flat_map(|devices| {
        let one = device(devices.kind, devices.profile);
        (0..devices.per_node).map(move |_| one.clone())
    });
    let others = [device("vfio", None), device("mig", Some("other"))];
    let devices: Vec<_> = others.into_iter().chain(wanted).collect();
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
        "spec": {"driver": expectation.devices[0].driver, "nodeName": node, "devices": devices,
            "pool": {"name": node, "generation": 2, "resourceSliceCount": 1}},
    })
}

fn assert_fails_with(stage: &Environment, world: &Value, told: &[String]) {
    assert!(!told.is_empty());
    stage.set_state(world);
    let run = stage.run("verify.sh", &["--no-pods"]);
    assert_eq!(run.code, 1, "{told:#?}\n{}", run.stderr);
    for why in told {
        let mut lines = run.stderr.lines();
        let is_told = lines.any(|line| line.starts_with("FAILED") && line.contains(why));
        assert!(is_told, "not told: {why}\n{}", run.stderr);
    }
    run.expect_no_changes();
}

/// The state with the nodes that every pool has at least, one more for those that may have none, and what serves them.
pub(crate) fn healthy_state(stage: &Environment) -> Value {
    let mut world = stage.state();
    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for expectation in &stage.plan.expectations {
        let names = node_names(&world, expectation);
        let count = u32::try_from(names.len()).unwrap();
        for name in names {
            let there = world["nodes"][&name].clone();
            world["nodes"][&name] = node(stage, expectation, &name, &there);
            if !expectation.devices.is_empty() {
                world["objects"][format!("resourceslice//{name}")] =
                    resource_slices(&name, expectation);
            }
        }
        for (namespace, name) in &expectation.daemon_sets {
            *served.entry(format!("{namespace}/{name}")).or_default() += count;
        }
    }
    for (path, count) in served {
        let (namespace, name) = path.split_once('/').unwrap();
        world["objects"][format!("daemonset/{path}")] = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": namespace, "generation": 3},
            "status": {
                "observedGeneration": 3, "desiredNumberScheduled": count, "updatedNumberScheduled": count,
                "numberReady": count,
            },
        });
    }
    world
}

/// The nodes of a pool: those that are there, else as many as it has at least, and one if it may have none.
fn node_names(world: &Value, expectation: &Expectation) -> Vec<String> {
    let selector = &expectation.selector;
    let fits = |node: &Value| {
        let labels = &node["metadata"]["labels"];
        selector.iter().all(|(key, value)| labels[key] == **value)
    };
    let nodes = world["nodes"].as_object().unwrap().iter();
    let there: Vec<_> = nodes
        .filter(|(_, node)| fits(node))
        .map(|(name, _)| name.clone())
        .collect();
    if !there.is_empty() {
        return there;
    }
    let made = 0..expectation.min_nodes.max(1);
    made.map(|number| format!("{}-{number}", expectation.pool))
        .collect()
}

/// A node of a pool. What it has already stays: two pools may share a node that others made.
fn node(stage: &Environment, expectation: &Expectation, name: &str, there: &Value) -> Value {
    let pool = stage.cluster.pool(&expectation.pool).unwrap();
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    labels.extend(pool.labels.iter().map(|label| (&*label.key, &*label.value)));
    labels.extend(
        expectation
            .selector
            .iter()
            .map(|(key, value)| (&**key, &**value)),
    );
    let taints = pool.taints.iter().map(|taint| {
        json!({"key": taint.key, "value": taint.value, "effect": format!("{:?}", taint.effect)})
    });
    let allocatable = expectation
        .allocatable
        .iter()
        .chain(&expectation.interconnect);
    let mut allocatable: BTreeMap<_, _> = allocatable
        .map(|(key, count)| (key.as_str(), count.to_string()))
        .collect();
    let held = |what: &'static str| there.pointer(what).and_then(Value::as_object);
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    let of_labels = held("/metadata/labels").into_iter().flatten();
    labels.extend(of_labels.map(|(key, value)| (key.as_str(), value.as_str().unwrap())));
    let of_resources = held("/status/allocatable").into_iter().flatten();
    allocatable.extend(of_resources.map(|(key, value)| (key.as_str(), text(value))));
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

fn pods(world: &Value) -> Vec<&String> {
    let objects = world["objects"].as_object().unwrap().keys();
    objects.filter(|key| key.starts_with("pod/")).collect()
}
