//! `verify.sh` distinguishes healthy from unhealthy clusters.

use std::collections::BTreeMap;

use gpuc_model::plan::{Credentials, Expectation};
use gpuc_schema::node_config::STARTUP_TAINT;
use gpuc_syntax::diag::phrases::pluralize;
use serde_json::{Value, json};

use super::environment::{Environment, RunOptions, RunResult};
use super::lifecycle::Case;

/// Asserts that a healthy cluster passes, with and without pods, and that each fault fails with its reason.
pub(crate) fn assert_health_is_verified(case: &Case) {
    let environment = case.environment_after_first_run();
    let healthy = healthy_state(&environment);
    environment.set_state(&healthy);
    environment
        .run("verify.sh", &["--no-pods"])
        .expect_success()
        .expect_no_changes();
    assert_gpu_test_runs(&environment);
    assert_networks_are_proven(&environment);
    assert_eq!(
        pods(&environment.state()),
        pods(&healthy),
        "a test pod remains"
    );

    let expectations = &environment.plan.expectations;
    let first =
        |expectation: &Expectation| node_names(&environment.state(), expectation)[0].clone();
    let firsts: Vec<_> = expectations.iter().map(|it| (it, first(it))).collect();

    assert_resource_states_are_verified(&environment, &healthy);
    assert_node_faults_are_found(&environment, &healthy, &firsts);
    assert_missing_devices_are_found(&environment, &healthy, &firsts);
    assert_daemon_set_faults_are_found(&environment, &healthy);
}

/// Where the fakes keep the pools of each cloud, the field with the state, and a state in which a pool is not ready.
const POOL_STATES: &[(&str, &str, &str, &str)] = &[
    ("eks", "nodegroups", "status", "DEGRADED"),
    ("eks", "nodegroups", "status", "CREATING"),
    ("eks", "nodegroups", "status", "CREATE_FAILED"),
    ("gke", "pools", "status", "RUNNING_WITH_ERROR"),
    ("gke", "pools", "status", "PROVISIONING"),
    ("aks", "pools", "provisioningState", "Updating"),
    ("aks", "pools", "provisioningState", "Failed"),
];

/// Asserts that resources in the cloud that are missing or not ready are found, unless the user names a context.
fn assert_resource_states_are_verified(environment: &Environment, healthy: &Value) {
    for (cloud, kind, field, status) in POOL_STATES {
        let pools = healthy[cloud][kind].as_object();
        let resources = &environment.plan.provisioning.resources;
        let is_managed = |pool: &&String| {
            let mut created = resources.iter().filter(|it| !it.create.is_empty());
            created.any(|resource| resource.name == **pool)
        };
        let Some(pool) = pools.and_then(|pools| pools.keys().find(is_managed)) else {
            continue;
        };
        let mut state = healthy.clone();
        state[cloud][kind][pool][field] = json!(status);
        state["contexts"] = json!({"own": {"server": "https://own.example.com"}});
        let unready = || "resources in the cloud are not ready".to_owned();
        let run = assert_fails_with(environment, &state, &[unready()]);
        let reason = format!("{pool}: {status}");
        assert!(run.stderr.contains(&reason), "{reason}\n{}", run.stderr);
        let arguments = ["--no-pods", "--context", "own"];
        environment.run("verify.sh", &arguments).expect_success();

        state[cloud][kind].as_object_mut().unwrap().remove(pool);
        let run = assert_fails_with(environment, &state, &[unready()]);
        let reason = format!("{pool}: not found");
        assert!(run.stderr.contains(&reason), "{reason}\n{}", run.stderr);
    }
    environment.set_state(healthy);
}

/// Each pool, with the name of one of its nodes.
type FirstNodes<'e> = [(&'e Expectation, String)];

fn assert_node_faults_are_found(
    environment: &Environment,
    healthy: &Value,
    firsts: &FirstNodes<'_>,
) {
    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        let (pool, min) = (&expectation.pool, expectation.min_nodes);
        // No nodes are expected before a capacity block starts.
        if min > 0 && expectation.period.is_none() {
            let left = min - 1;
            messages.push(format!(
                "pool {pool}: {} ready, expected at least {min}",
                pluralize(left, "node")
            ));
            state["nodes"].as_object_mut().unwrap().remove(name);
        }
    }
    assert_fails_with(environment, &state, &messages);

    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        messages.push(format!("pool {}: ", expectation.pool));
        let conditions = json!([{"type": "Ready", "status": "Unknown"}]);
        state["nodes"][name]["status"]["conditions"] = conditions;
    }
    assert_fails_with(environment, &state, &messages);

    // A node whose GPUs are not partitioned yet accepts no pods, although the kubelet is ready.
    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        let pool = &expectation.pool;
        messages.push(format!(
            "pool {pool}: gpuc-runtime has not partitioned the GPUs of {name} yet; their"
        ));
        let taint = json!({"key": STARTUP_TAINT, "value": "starting", "effect": "NoSchedule"});
        state["nodes"][name]["spec"]["taints"] = json!([taint]);
    }
    assert_fails_with(environment, &state, &messages);

    // No script sets the taints of nodes that exist.
    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        let taints = expectation.required_taints.iter();
        messages.extend(taints.map(|taint| {
            state["nodes"][name]["spec"]["taints"] = json!([]);
            format!("pool {}: without the taint {taint}", expectation.pool)
        }));
    }
    if !messages.is_empty() {
        assert_fails_with(environment, &state, &messages);
    }
}

fn assert_missing_devices_are_found(
    environment: &Environment,
    healthy: &Value,
    firsts: &FirstNodes<'_>,
) {
    // One fewer, or one more: then a change of the file has not taken effect.
    for difference in [-1, 1] {
        let mut messages = Vec::new();
        let mut state = healthy.clone();
        for (expectation, name) in firsts {
            let pool = &expectation.pool;
            let some = expectation
                .allocatable
                .iter()
                .filter(|(_, count)| **count > 0);
            for (resource, count) in some {
                let has = i64::from(*count) + difference;
                messages.push(format!(
                    "pool {pool}: expected {count} {resource} per node: {name} has {has}"
                ));
                state["nodes"][name]["status"]["allocatable"][resource] = json!(has.to_string());
            }
        }
        assert_fails_with(environment, &state, &messages);
    }

    // The resource of an earlier MIG layout. A resource that no pod can use any more has the number 0.
    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        if expectation.allocatable.is_empty() {
            continue;
        }
        let pool = &expectation.pool;
        messages.push(format!(
            "pool {pool}: unexpected resources: {name} has 4 nvidia.com/mig-9g.9gb"
        ));
        let allocatable = &mut state["nodes"][name]["status"]["allocatable"];
        allocatable["nvidia.com/mig-9g.9gb"] = json!("4");
        allocatable["nvidia.com/mig-8g.8gb"] = json!("0");
        allocatable["example.com/gpu"] = json!("4");
    }
    assert_fails_with(environment, &state, &messages);

    let mut messages = Vec::new();
    let mut state = healthy.clone();
    for (expectation, name) in firsts {
        for devices in &expectation.devices {
            let (class, count, has) = (&devices.class, devices.per_node, devices.per_node - 1);
            messages.push(format!(
                "pool {}: expected {} of class {class} per node: {name} has {has}",
                expectation.pool,
                pluralize(count, "device")
            ));
            let slice = &mut state["objects"][format!("resourceslice//{name}")];
            slice["spec"]["devices"].as_array_mut().unwrap().pop();
        }
    }
    if !messages.is_empty() {
        assert_fails_with(environment, &state, &messages);
    }
}

fn assert_daemon_set_faults_are_found(environment: &Environment, healthy: &Value) {
    let expectations = &environment.plan.expectations;
    let status = |seen: u32, desired: u32, updated: u32, ready: u32| {
        json!({
            "observedGeneration": seen, "desiredNumberScheduled": desired, "updatedNumberScheduled": updated,
            "numberReady": ready,
        })
    };
    for (status, failure) in [
        (status(3, 0, 0, 0), ": 0 desired pods"),
        (status(3, 2, 2, 1), ": ready on 1 of 2 nodes"),
        (status(3, 2, 1, 2), ": updated on 1 of 2 nodes"),
        (
            status(2, 2, 2, 2),
            ": the controller has not observed the latest generation",
        ),
        (Value::Null, " not found"),
    ] {
        let mut messages = Vec::new();
        let mut state = healthy.clone();
        for (namespace, name) in expectations.iter().flat_map(|it| &it.daemon_sets) {
            let objects = state["objects"].as_object_mut().unwrap();
            let mut object = objects
                .remove(&format!("daemonset/{namespace}/{name}"))
                .unwrap();
            if !status.is_null() {
                object["status"] = status.clone();
                objects.insert(format!("daemonset/{namespace}/{name}"), object);
            }
            messages.push(format!("DaemonSet {namespace}/{name}{failure}"));
        }
        assert_fails_with(environment, &state, &messages);
    }
}

/// Asserts that `--prove` runs `gpuc prove` for each pool with a network, and fails with it.
fn assert_networks_are_proven(environment: &Environment) {
    const STANDIN: &str = r#"#!/bin/sh
printf '%s\n' "$*" >>"$PROOFS"
echo 'judgement'
echo 'warning[floor-unknown]: x'
exit "$PROOF_CODE"
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("gpuc"), STANDIN).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path("gpuc"), executable).unwrap();
    std::fs::write(path("gpu-cluster.yaml"), "").unwrap();
    let bin = crate::support::repository().join("tests/standins/bin");
    let own_path = std::env::var("PATH").unwrap();
    let own_path = format!("{}:{}:{own_path}", folder.path().display(), bin.display());
    let (proofs, file) = (path("proofs"), path("gpu-cluster.yaml"));
    let (proofs, file) = (proofs.to_str().unwrap(), file.to_str().unwrap());
    let prove = |code: &str| {
        std::fs::write(proofs, "").unwrap();
        let variables = [
            ("PATH", own_path.as_str()),
            ("PROOFS", proofs),
            ("PROOF_CODE", code),
        ];
        let options = RunOptions {
            environment: &variables,
            ..RunOptions::default()
        };
        let run = environment.run_with("verify.sh", &["--no-pods", "--prove", file], &options);
        (run, std::fs::read_to_string(proofs).unwrap())
    };
    let state = environment.state();
    let expectations = environment.plan.expectations.iter();
    let provable = expectations.filter(|it| {
        let ready = node_names(&state, it).len();
        it.fabric_nodes.is_some_and(|nodes| ready >= nodes as usize)
    });
    let cluster = &environment.plan.cluster;
    let mut expected = String::new();
    for pool in provable {
        let (name, nodes) = (&pool.pool, pool.fabric_nodes.unwrap());
        expected +=
            &format!("prove {name} {file} --cluster {cluster} --fabric --nodes {nodes} --apply");
        // On premises, the script uses the context of the file.
        if let Credentials::Context(context) = &environment.plan.provisioning.credentials {
            expected += &format!(" --context {context}");
        }
        expected += "\n";
    }
    let (run, calls) = prove("0");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(calls, expected);
    // A proof with warnings is not the same as one without.
    assert_eq!(
        run.stderr.contains("warning[floor-unknown]"),
        !expected.is_empty(),
        "{}",
        run.stderr
    );
    let (run, _) = prove("1");
    assert_eq!(run.code != 0, !expected.is_empty(), "{}", run.stderr);
    assert_eq!(
        run.stderr.contains("judgement"),
        !expected.is_empty(),
        "{}",
        run.stderr
    );
    let missing = environment.run("verify.sh", &["--no-pods", "--prove", "missing.yaml"]);
    assert!(
        missing.stderr.contains("missing.yaml is not a file"),
        "{}",
        missing.stderr
    );
}

fn assert_gpu_test_runs(environment: &Environment) {
    let arguments = [
        "--image",
        "nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04",
        "--timeout",
        "4",
    ];
    let run = environment.run("verify.sh", &arguments).expect_success();
    for expectation in &environment.plan.expectations {
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

/// The ResourceSlice of a DRA driver: the expected devices, and devices of other types.
fn resource_slices(node: &str, expectation: &Expectation) -> Value {
    let device = |kind: &str, profile: Option<&str>| {
        let mut device = json!({"attributes": {"type": {"string": kind}}});
        if let Some(profile) = profile {
            device["attributes"]["profile"] = json!({"string": profile});
        }
        device
    };
    let expected = expectation.devices.iter().flat_map(|devices| {
        let one = device(devices.kind, devices.profile);
        (0..devices.per_node).map(move |_| one.clone())
    });
    let others = [device("vfio", None), device("mig", Some("other"))];
    let devices: Vec<_> = others.into_iter().chain(expected).collect();
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
        "spec": {"driver": expectation.devices[0].driver, "nodeName": node, "devices": devices,
            "pool": {"name": node, "generation": 2, "resourceSliceCount": 1}},
    })
}

fn assert_fails_with(environment: &Environment, state: &Value, messages: &[String]) -> RunResult {
    assert!(!messages.is_empty());
    environment.set_state(state);
    let run = environment.run("verify.sh", &["--no-pods"]);
    assert_eq!(run.code, 1, "{messages:#?}\n{}", run.stderr);
    for why in messages {
        let mut lines = run.stderr.lines();
        let is_reported = lines.any(|line| line.starts_with("FAILED") && line.contains(why));
        assert!(is_reported, "not reported: {why}\n{}", run.stderr);
    }
    run.expect_no_changes()
}

/// The state in which every pool has its minimum number of nodes, or one if the minimum is 0, and in which the
/// DaemonSets for the nodes run.
pub(crate) fn healthy_state(environment: &Environment) -> Value {
    let mut state = environment.state();
    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for expectation in &environment.plan.expectations {
        let names = node_names(&state, expectation);
        let count = u32::try_from(names.len()).unwrap();
        for name in names {
            let there = state["nodes"][&name].clone();
            state["nodes"][&name] = node(environment, expectation, &name, &there);
            if !expectation.devices.is_empty() {
                state["objects"][format!("resourceslice//{name}")] =
                    resource_slices(&name, expectation);
            }
        }
        for (namespace, name) in &expectation.daemon_sets {
            *served.entry(format!("{namespace}/{name}")).or_default() += count;
        }
    }
    for (path, count) in served {
        let (namespace, name) = path.split_once('/').unwrap();
        state["objects"][format!("daemonset/{path}")] = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": namespace, "generation": 3},
            "status": {
                "observedGeneration": 3, "desiredNumberScheduled": count, "updatedNumberScheduled": count,
                "numberReady": count,
            },
        });
    }
    state
}

/// The names of the nodes of a pool: those that exist, or as many as its minimum, but at least one.
fn node_names(state: &Value, expectation: &Expectation) -> Vec<String> {
    let selector = &expectation.selector;
    let fits = |node: &Value| {
        let labels = &node["metadata"]["labels"];
        selector.iter().all(|(key, value)| labels[key] == **value)
    };
    let nodes = state["nodes"].as_object().unwrap().iter();
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

/// A node of a pool. Existing labels are kept, because two pools may select the same externally created node.
fn node(environment: &Environment, expectation: &Expectation, name: &str, there: &Value) -> Value {
    let pool = environment.cluster.pool(&expectation.pool).unwrap();
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

fn pods(state: &Value) -> Vec<&String> {
    let objects = state["objects"].as_object().unwrap().keys();
    objects.filter(|key| key.starts_with("pod/")).collect()
}
