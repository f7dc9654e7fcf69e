//! Objects of noise.

use serde_json::{Value, json};

use super::super::faults::{gpu_resources, is_gpu_node};
use super::super::healthy::NOW;

/// The time some seconds before the time of the state; at most ten hours.
pub(super) fn ago(seconds: u32) -> String {
    assert!(NOW.ends_with("T12:00:00Z") && seconds < 36_000);
    let time = 12 * 3600 - seconds;
    let (hours, minutes) = (time / 3600, time / 60 % 60);
    format!("2026-11-28T{hours:02}:{minutes:02}:{:02}Z", time % 60)
}

/// The first node with GPUs, or the first node.
pub(super) fn gpu_node(objects: &[Value]) -> Option<Value> {
    let mut nodes = objects.iter().filter(|it| it["kind"] == "Node");
    let first = nodes.clone().find(|node| is_gpu_node(node));
    first.or_else(|| nodes.next()).cloned()
}

/// The requests of a pod for one GPU of a node; none if the GPUs are not extended resources.
fn one_gpu(node: &Value) -> Value {
    match gpu_resources(node).first() {
        Some(resource) => json!({"limits": {(resource): "1"}, "requests": {(resource): "1"}}),
        None => json!({}),
    }
}

/// The tolerations of a pod for the taints of the pool, and not for those that a node has for some time.
fn tolerations(node: &Value) -> Vec<Value> {
    const PASSING: &[&str] = &[
        "DeletionCandidate",
        "ToBeDeleted",
        "aws-node-termination-handler/",
        "cloud.google.com/impending",
        "karpenter.sh/",
        "node.",
        "startup-taint.",
    ];
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let keys = taints.filter_map(|taint| taint["key"].as_str());
    keys.filter(|key| !PASSING.iter().any(|prefix| key.starts_with(prefix)))
        .map(|key| json!({"key": key, "operator": "Exists"}))
        .collect()
}

/// A pod with one GPU that tolerates the taints of the node's pool.
pub(super) fn workload(name: &str, node: &Value, age: u32, owner: &str, status: Value) -> Value {
    let (kind, owner) = owner.split_once('/').unwrap();
    let mut status = status;
    status["startTime"] = ago(age).into();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "noise",
            "creationTimestamp": ago(age),
            "labels": {"app": owner},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "controller": true}],
        },
        "spec": {
            "nodeName": node["metadata"]["name"],
            "tolerations": tolerations(node),
            "containers": [
                {"name": "main", "image": "registry.example.com/serve:2", "resources": one_gpu(node)},
            ],
        },
        "status": status,
    })
}

pub(super) fn running() -> Value {
    json!({
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": "main", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": ago(3600)}}},
        ],
    })
}

pub(super) fn creating() -> Value {
    json!({
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(20)},
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": ago(20)},
        ],
        "containerStatuses": [{
            "name": "main", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ContainerCreating"}},
        }],
    })
}

pub(super) fn waiting(age: u32) -> Value {
    json!({
        "phase": "Pending",
        "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
            "lastTransitionTime": ago(age),
        }],
    })
}

pub(super) fn ended(phase: &str, code: i32, reason: &str) -> Value {
    json!({
        "phase": phase,
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}],
        "containerStatuses": [{
            "name": "main", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": ago(600)}},
        }],
    })
}

pub(super) fn event(object: &Value, reason: &str, message: &str, age: u32) -> Value {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap();
    let namespace = metadata["namespace"].as_str().unwrap_or("default");
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{name}.{}.{reason}", object["kind"].as_str().unwrap()),
            "namespace": namespace,
            "creationTimestamp": ago(age),
        },
        "involvedObject": {"kind": object["kind"], "name": name, "namespace": metadata["namespace"]},
        "type": "Warning", "reason": reason, "message": message, "count": 3, "lastTimestamp": ago(age),
    })
}

/// A copy of a node with another name.
pub(super) fn copy_node(node: &Value, name: &str, age: u32) -> Value {
    let mut node = node.clone();
    node["metadata"]["name"] = name.into();
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name.into();
    node["metadata"]["creationTimestamp"] = ago(age).into();
    node
}

/// Changes the condition `Ready` of a node.
pub(super) fn set_ready(node: &mut Value, status: &str, reason: &str, message: &str, age: u32) {
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    let ready = conditions.iter_mut().find(|it| it["type"] == "Ready");
    *ready.unwrap() = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": NOW, "lastTransitionTime": ago(age),
    });
}

pub(super) fn add_taints(node: &mut Value, taints: &[Value]) {
    let own = node["spec"]["taints"].as_array_mut().unwrap();
    own.extend(taints.iter().cloned());
}

/// Removes the GPUs and the labels that components set when they run.
pub(super) fn strip_gpus(node: &mut Value) {
    for resource in gpu_resources(node) {
        for list in ["capacity", "allocatable"] {
            let list = node["status"][list].as_object_mut().unwrap();
            list.remove(&resource);
        }
    }
    let labels = node["metadata"]["labels"].as_object_mut().unwrap();
    labels.retain(|key, _| {
        !key.starts_with("nvidia.com/") && !key.starts_with("feature.node.kubernetes.io/")
    });
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|it| it["type"] != "GPUsHealthy");
}

/// The pods that the DaemonSets of a node have on another one, with another status.
pub(super) fn daemon_pods(
    objects: &[Value],
    from: &Value,
    to: &str,
    age: u32,
    status: &Value,
) -> Vec<Value> {
    let pods = objects.iter().filter(|it| {
        let owner = &it["metadata"]["ownerReferences"][0]["kind"];
        it["kind"] == "Pod"
            && it["spec"]["nodeName"] == from["metadata"]["name"]
            && owner == "DaemonSet"
    });
    pods.map(|pod| {
        let mut pod = pod.clone();
        let name = pod["metadata"]["ownerReferences"][0]["name"].as_str();
        pod["metadata"]["name"] = format!("{}-{to}", name.unwrap()).into();
        pod["metadata"]["creationTimestamp"] = ago(age).into();
        pod["spec"]["nodeName"] = to.into();
        pod["status"] = status.clone();
        pod
    })
    .collect()
}
