//! Faults that are planted into healthy clusters: each is the only cause that is found, in every cluster that can have
//! it.

#![allow(clippy::ptr_arg, reason = "all faults have the same signature")]

use gpuc_syntax::diag::{Code, split_files, split_objects};
use serde_json::{Value, json};

use super::diagnose_files;
use super::healthy::{Healthy, healthy_clusters};

/// A fault: its code, and a function that plants it. The function returns false if the cluster cannot have it.
type Fault = (&'static str, fn(&mut Vec<Value>) -> bool);

const FAULTS: &[Fault] = &[
    ("GPUC7101", plant_node_not_ready),
    ("GPUC7302", plant_taint),
    ("GPUC7303", plant_crash_loop),
    ("GPUC7401", plant_unhealthy_gpu),
    ("GPUC7503", plant_intolerant_pod),
];

fn find<'o>(
    objects: &'o mut [Value],
    kind: &str,
    accepts: impl Fn(&Value) -> bool,
) -> Option<&'o mut Value> {
    let mut objects = objects.iter_mut();
    objects.find(|it| it["kind"] == kind && accepts(it))
}

/// The resources of GPUs that a node offers.
pub(super) fn gpu_resources(node: &Value) -> Vec<String> {
    let capacity = node["status"]["capacity"].as_object().into_iter().flatten();
    let names = capacity.map(|(name, _)| name);
    names
        .filter(|name| name.starts_with("nvidia.com/"))
        .cloned()
        .collect()
}

pub(super) fn is_gpu_node(node: &Value) -> bool {
    !gpu_resources(node).is_empty()
}

pub(super) fn is_plugin(pod: &Value) -> bool {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let mut images = containers.filter_map(|it| it["image"].as_str());
    images.any(|image| {
        ["gpuc-runtime", "k8s-device-plugin"]
            .iter()
            .any(|part| image.contains(part))
    })
}

fn plant_node_not_ready(objects: &mut Vec<Value>) -> bool {
    let Some(node) = find(objects, "Node", is_gpu_node) else {
        return false;
    };
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    let ready = conditions
        .iter_mut()
        .find(|it| it["type"] == "Ready")
        .unwrap();
    *ready = json!({
        "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    });
    true
}

/// A taint that no DaemonSet tolerates, on a node from which the device plugin's pod has gone.
fn plant_taint(objects: &mut Vec<Value>) -> bool {
    let Some(node) = find(objects, "Node", is_gpu_node) else {
        return false;
    };
    let taints = node["spec"]["taints"].as_array_mut().unwrap();
    taints.push(json!({"key": "example.com/maintenance", "value": "yes", "effect": "NoSchedule"}));
    for resource in gpu_resources(node) {
        for list in ["capacity", "allocatable"] {
            node["status"][list]
                .as_object_mut()
                .unwrap()
                .remove(&resource);
        }
    }
    let name = node["metadata"]["name"].clone();
    objects.retain(|it| it["kind"] != "Pod" || it["spec"]["nodeName"] != name);
    true
}

fn plant_crash_loop(objects: &mut Vec<Value>) -> bool {
    let Some(pod) = find(objects, "Pod", is_plugin) else {
        return false;
    };
    pod["status"] = json!({
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{
            "name": "main", "ready": false, "restartCount": 9,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
        }],
    });
    let name = pod["spec"]["nodeName"].clone();
    let node = find(objects, "Node", |it| it["metadata"]["name"] == name).unwrap();
    for resource in gpu_resources(node) {
        for list in ["capacity", "allocatable"] {
            node["status"][list]
                .as_object_mut()
                .unwrap()
                .remove(&resource);
        }
    }
    true
}

fn plant_unhealthy_gpu(objects: &mut Vec<Value>) -> bool {
    let Some(plugin) = find(objects, "Pod", is_plugin) else {
        return false;
    };
    let name = plugin["spec"]["nodeName"].clone();
    let is_meant = |node: &Value| node["metadata"]["name"] == name && is_gpu_node(node);
    let Some(node) = find(objects, "Node", is_meant) else {
        return false;
    };
    let resource = gpu_resources(node).remove(0);
    node["status"]["allocatable"][&resource] = "0".into();
    true
}

/// A pod that requests the GPUs of a node and tolerates nothing. All nodes must have a taint.
fn plant_intolerant_pod(objects: &mut Vec<Value>) -> bool {
    let repels = |node: &Value| {
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        taints
            .into_iter()
            .any(|it| it["effect"] != "PreferNoSchedule")
    };
    let nodes = objects
        .iter()
        .filter(|it| it["kind"] == "Node" && is_gpu_node(it));
    let nodes: Vec<_> = nodes.collect();
    if nodes.is_empty() || !nodes.iter().all(|node| repels(node)) {
        return false;
    }
    let resource = gpu_resources(nodes[0]).remove(0);
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train-0", "namespace": "default", "creationTimestamp": "2026-11-28T08:00:00Z"},
        "spec": {"containers": [
            {"name": "main", "image": "registry.example.com/train:1", "resources": {"limits": {(resource): "1"}}},
        ]},
        "status": {"phase": "Pending"},
    }));
    true
}

fn causes(healthy: &Healthy, objects: &[Value]) -> (Vec<&'static str>, String) {
    // A List without DaemonSets does not show that there are none.
    let none = r#"{"kind": "DaemonSetList", "apiVersion": "apps/v1", "items": []}"#;
    let files = [("daemonsets.json".to_owned(), none.to_owned())];
    let (diagnosis, text) = diagnose_files(healthy, objects, &files);
    let causes = diagnosis.causes.iter();
    (causes.map(|it| it.finding.code.id).collect(), text)
}

#[test]
fn planted_faults_are_the_only_cause() {
    let clusters = healthy_clusters();
    for (code, plant) in FAULTS {
        let mut planted = 0;
        for healthy in &clusters {
            let mut objects = healthy.objects.clone();
            if !plant(&mut objects) {
                continue;
            }
            planted += 1;
            let (found, text) = causes(healthy, &objects);
            assert_eq!(found, [*code], "{}: {text}", healthy.name);
        }
        assert!(planted > 5, "{code} was planted into {planted} clusters");
    }
}

/// Checks whose examples are no faults any more in a larger cluster: a pod that waits for a GPU fits on its nodes, a
/// DaemonSet that is not in a complete list was deleted, and the tree creates the class that the example lacks.
const DEPENDENT: &[&str] = &[
    "GPUC7204", "GPUC7501", "GPUC7502", "GPUC7503", "GPUC7504", "GPUC7505", "GPUC7506", "GPUC7507",
    "GPUC7508", "GPUC7512", "GPUC7603", "GPUC7616", "GPUC7701", "GPUC7702",
];

/// Container logs: paths and texts.
type Logs = Vec<(String, String)>;

/// The objects and logs of the example of a check, if it needs no gpu-cluster.yaml.
fn example(code: &Code) -> Option<(Vec<Value>, Logs)> {
    let (configuration, objects) = split_objects(code.bad)?;
    let files = split_files(objects);
    let list: Value = serde_yaml::from_str(files[0].1).unwrap();
    let logs = files[1..]
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let objects = list["items"].as_array().unwrap().clone();
    configuration.is_empty().then(|| (objects, logs.collect()))
}

/// The fault of each check's example, added to each healthy cluster.
#[test]
fn faults_of_examples_are_the_only_cause_in_every_cluster() {
    let clusters = healthy_clusters();
    let (mut planted, mut wrong) = (0, Vec::new());
    for code in gpuc::doctor_codes() {
        let Some((objects, logs)) = example(code).filter(|_| !DEPENDENT.contains(&code.id)) else {
            continue;
        };
        for healthy in &clusters {
            planted += 1;
            let all = [&healthy.objects[..], &objects].concat();
            let (diagnosis, text) = diagnose_files(healthy, &all, &logs);
            let causes = diagnosis.causes.iter();
            let codes: Vec<_> = causes.map(|it| it.finding.code.id).collect();
            if codes != [code.id] {
                let lines = text.lines().filter(|line| !line.starts_with("not checked"));
                let text: Vec<_> = lines.collect();
                wrong.push(format!(
                    "{} in {}: {}",
                    code.id,
                    healthy.name,
                    text.join("\n")
                ));
            }
        }
    }
    assert!(planted > 1500, "{planted}");
    assert!(
        wrong.is_empty(),
        "{} of {planted}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
