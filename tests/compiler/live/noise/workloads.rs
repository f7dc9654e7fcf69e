//! Updates, Jobs, queues and old events.

use serde_json::{Value, json};

use super::super::faults::{gpu_resources, is_plugin};
use super::objects::{ago, creating, ended, event, gpu_node, running, workload};

/// A rolling update of a Deployment, and of the DaemonSet of the device plugin: its new pod starts, and until it has
/// registered, the kubelet counts the GPUs of the node as unhealthy.
pub(super) fn roll_update(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    objects.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "serve", "namespace": "noise", "creationTimestamp": ago(30_000)},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "serve-2"}}},
        "status": {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1},
    }));
    objects.push(workload(
        "serve-1-x",
        &node,
        7200,
        "ReplicaSet/serve-1",
        running(),
    ));
    objects.push(workload(
        "serve-2-x",
        &node,
        20,
        "ReplicaSet/serve-2",
        creating(),
    ));
    let mut going = workload("serve-1-y", &node, 7200, "ReplicaSet/serve-1", running());
    going["metadata"]["deletionTimestamp"] = ago(5).into();
    objects.push(going);
}

/// The device plugin of a node is replaced by its DaemonSet.
pub(super) fn replace_plugin(objects: &mut Vec<Value>) {
    let Some(at) = objects
        .iter()
        .position(|it| it["kind"] == "Pod" && is_plugin(it))
    else {
        return;
    };
    let mut pod = objects[at].clone();
    let names: Vec<Value> = (pod["spec"]["containers"].as_array().into_iter().flatten())
        .map(|it| it["name"].clone())
        .collect();
    pod["metadata"]["name"] = format!("{}-new", pod["metadata"]["name"].as_str().unwrap()).into();
    pod["metadata"]["creationTimestamp"] = ago(20).into();
    pod["status"] = creating();
    pod["status"]["containerStatuses"][0]["name"] = names[0].clone();
    objects[at]["metadata"]["deletionTimestamp"] = ago(2).into();
    let name = pod["spec"]["nodeName"].clone();
    objects.push(pod);
    let mut nodes = objects.iter_mut();
    let node = nodes.find(|it| it["kind"] == "Node" && it["metadata"]["name"] == name);
    let Some(node) = node else { return };
    for resource in gpu_resources(node) {
        if resource.starts_with("nvidia.com/") {
            node["status"]["allocatable"][&resource] = "0".into();
        }
    }
}

/// Jobs that ended, also after a second attempt, and a container that was restarted an hour ago.
pub(super) fn end_jobs(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    for (name, failed) in [("done", 0), ("retried", 1)] {
        objects.push(json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "noise", "creationTimestamp": ago(7200)},
            "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6},
            "status": {"succeeded": 1, "failed": failed, "completionTime": ago(600), "conditions": [
                {"type": "Complete", "status": "True", "lastTransitionTime": ago(600)},
            ]},
        }));
        let owner = format!("Job/{name}");
        let done = workload(
            &format!("{name}-0"),
            &node,
            7000,
            &owner,
            ended("Succeeded", 0, "Completed"),
        );
        objects.push(done);
        if failed > 0 {
            let status = ended("Failed", 137, "OOMKilled");
            objects.push(workload("retried-1", &node, 7200, &owner, status));
        }
    }
    let mut restarted = workload(
        "restarted-0",
        &node,
        20_000,
        "StatefulSet/restarted",
        running(),
    );
    restarted["status"]["containerStatuses"][0]["restartCount"] = 2.into();
    restarted["status"]["containerStatuses"][0]["lastState"] = json!({
        "terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(3600), "message": "CUDA out of memory"},
    });
    objects.push(restarted);
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "again", "namespace": "noise", "creationTimestamp": ago(3000)},
        "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6},
        "status": {"active": 1, "failed": 1, "ready": 1},
    });
    objects.push(workload(
        "again-0",
        &node,
        3000,
        "Job/again",
        ended("Failed", 1, "Error"),
    ));
    objects.push(workload("again-1", &node, 2000, "Job/again", running()));
    objects.push(job);
}

/// Old events of pods that run now, of their controllers, and of pods that do not exist any longer.
pub(super) fn remember(objects: &mut Vec<Value>) {
    const OLD: u32 = 3000;
    let warnings = [
        (
            "FailedScheduling",
            "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
        ),
        (
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: 1 in backoff after failed scale-up",
        ),
        (
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: no runtime for \"nvidia\" is configured",
        ),
        (
            "FailedMount",
            "MountVolume.SetUp failed for volume \"config\" : configmap \"plugin\" not found",
        ),
        (
            "FailedPrepareDynamicResources",
            "DRA driver gpu.nvidia.com is not registered",
        ),
        ("Failed", "Error: ImagePullBackOff"),
        ("BackOff", "Back-off restarting failed container main"),
        (
            "Unhealthy",
            "Readiness probe failed: HTTP probe failed with statuscode: 500",
        ),
    ];
    let mut events = Vec::new();
    let pods = objects
        .iter()
        .filter(|it| it["kind"] == "Pod" && it["status"]["phase"] == "Running");
    for pod in pods {
        events.extend(
            warnings
                .iter()
                .map(|(reason, message)| event(pod, reason, message, OLD)),
        );
    }
    let refused = "Error creating: pods \"x\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, \
                   used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8";
    let controllers = objects.iter().filter(|it| it["kind"] == "DaemonSet");
    events.extend(controllers.map(|it| event(it, "FailedCreate", refused, OLD)));
    let webhook = "Error creating: Internal error occurred: failed calling webhook \"mjob.kb.io\": connection refused";
    let gone = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name, "namespace": "noise"}});
    events.push(event(
        &gone("ReplicaSet", "old-1"),
        "FailedCreate",
        refused,
        OLD,
    ));
    events.push(event(&gone("Job", "old-2"), "FailedCreate", webhook, OLD));
    events.push(event(
        &gone("Pod", "old-3"),
        "FailedScaleUp",
        "GCE out of resources",
        OLD,
    ));
    for node in objects.iter().filter(|it| it["kind"] == "Node") {
        events.push(event(
            node,
            "NodeNotReady",
            "Node status is now: NodeNotReady",
            OLD,
        ));
        events.push(event(node, "XIDError", "Caught XID error, XID=43", OLD));
    }
    objects.extend(events);
}

/// A Job that waits in a queue for the GPUs of others.
pub(super) fn queue_up(objects: &mut Vec<Value>) {
    let Some(queue) = objects
        .iter()
        .find(|it| it["kind"] == "LocalQueue")
        .cloned()
    else {
        return;
    };
    let namespace = &queue["metadata"]["namespace"];
    let name = &queue["metadata"]["name"];
    objects.push(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "queued", "namespace": namespace, "creationTimestamp": ago(7200),
            "labels": {"kueue.x-k8s.io/queue-name": name},
        },
        "spec": {"suspend": true, "parallelism": 1, "completions": 1},
        "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
    }));
    objects.push(json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {
            "name": "job-queued", "namespace": namespace, "creationTimestamp": ago(7200),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "queued", "controller": true}],
        },
        "spec": {"queueName": name},
        "status": {"conditions": [{
            "type": "QuotaReserved", "status": "False", "reason": "Pending",
            "message": "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor \
                        gpu, 1 more needed",
            "lastTransitionTime": ago(7200),
        }]},
    }));
}

/// Pods that start slowly: one whose image is pulled for eight minutes, and one whose volume is attached.
pub(super) fn start_slowly(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    let pulling = workload("pulling-0", &node, 480, "ReplicaSet/pulling", creating());
    objects.push(event(
        &pulling,
        "Pulling",
        "Pulling image \"registry.example.com/serve:2\"",
        475,
    ));
    objects.push(pulling);
    let mut attaching = workload(
        "attaching-0",
        &node,
        90,
        "StatefulSet/attaching",
        creating(),
    );
    attaching["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    let unbound = "0/9 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    objects.push(event(&attaching, "FailedScheduling", unbound, 85));
    let attach = "Multi-Attach error for volume \"pvc-1\": Volume is already exclusively attached to one node";
    objects.push(event(&attaching, "FailedAttachVolume", attach, 60));
    objects.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "noise", "creationTimestamp": ago(95)},
        "spec": {"volumeName": "pvc-1"}, "status": {"phase": "Bound"},
    }));
    objects.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pvc-1", "creationTimestamp": ago(88)},
        "spec": {"claimRef": {"namespace": "noise", "name": "data"}}, "status": {"phase": "Bound"},
    }));
    objects.push(attaching);
}
