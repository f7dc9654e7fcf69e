//! Nodes that come and go.

use serde_json::{Value, json};

use super::super::faults::gpu_resources;
use super::objects::{
    add_taints, ago, copy_node, creating, daemon_pods, ended, event, gpu_node, running, set_ready,
    strip_gpus, waiting, workload,
};

/// A node that an autoscaler created a minute ago, one that is ready since a minute and has no GPUs yet, and a pod that
/// waits for them.
pub(super) fn scale_up(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    let mut young = copy_node(&node, "noise-young", 60);
    strip_gpus(&mut young);
    set_ready(
        &mut young,
        "False",
        "KubeletNotReady",
        "container runtime network not ready: cni plugin not initialized",
        60,
    );
    add_taints(
        &mut young,
        &[
            json!({"key": "karpenter.sh/unregistered", "effect": "NoExecute"}),
            json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}),
            json!({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": ago(60)}),
            json!({"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}),
            json!({"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpuc", "effect": "NoSchedule"}),
        ],
    );
    let mut starting = copy_node(&node, "noise-starting", 180);
    strip_gpus(&mut starting);
    set_ready(
        &mut starting,
        "True",
        "KubeletReady",
        "kubelet is ready",
        60,
    );
    let status = json!({
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}],
        "initContainerStatuses": [{"name": "wait", "ready": false, "state": {"running": {"startedAt": ago(30)}}}],
        "containerStatuses": [{"name": "main", "ready": false, "state": {"waiting": {"reason": "PodInitializing"}}}],
    });
    let more = daemon_pods(objects, &node, "noise-young", 30, &creating());
    objects.extend(more);
    let more = daemon_pods(objects, &node, "noise-starting", 150, &status);
    objects.extend(more);
    for (name, reason, message) in [
        (
            "scaled-0",
            "TriggeredScaleUp",
            "pod triggered scale-up: [{gpu 1->2 (max: 4)}]",
        ),
        (
            "nominated-0",
            "Nominated",
            "Pod should schedule on: nodeclaim/noise",
        ),
    ] {
        let mut pod = workload(name, &node, 240, "Job/scaled", waiting(240));
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        objects.push(event(
            &pod,
            "FailedScheduling",
            "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
            240,
        ));
        objects.push(event(&pod, reason, message, 230));
        objects.push(pod);
    }
    objects.push(json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": "noise", "creationTimestamp": ago(230), "labels": {"karpenter.sh/nodepool": "gpu"}},
        "spec": {"resources": {"requests": {"nvidia.com/gpu": "1"}}},
        "status": {"nodeName": "noise-young", "conditions": [
            {"type": "Launched", "status": "True"}, {"type": "Registered", "status": "Unknown", "reason": "NodeNotFound"},
        ]},
    }));
    objects.extend([young, starting]);
}

/// Nodes that the Cluster Autoscaler and Karpenter remove, the second one without a kubelet.
pub(super) fn scale_down(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    let mut removed = copy_node(&node, "noise-removed", 20_000);
    removed["spec"]["unschedulable"] = true.into();
    add_taints(
        &mut removed,
        &[
            json!({"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}),
            json!({"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}),
            json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
        ],
    );
    let mut gone = copy_node(&node, "noise-gone", 20_000);
    gone["metadata"]["deletionTimestamp"] = ago(90).into();
    set_ready(
        &mut gone,
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        30,
    );
    add_taints(
        &mut gone,
        &[
            json!({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}),
            json!({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}),
            json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": ago(30)}),
        ],
    );
    for (name, owner) in [("noise-removed", &removed), ("noise-gone", &gone)] {
        let mut more = daemon_pods(objects, &node, name, 19_000, &running());
        for pod in &mut more {
            pod["status"]["conditions"][1]["status"] = (name != "noise-gone").to_string().into();
            let ready = if name == "noise-gone" {
                "False"
            } else {
                "True"
            };
            pod["status"]["conditions"][1]["status"] = ready.into();
        }
        objects.extend(more);
        let mut evicted = workload(
            &format!("evicted-{name}"),
            owner,
            7200,
            "ReplicaSet/batch",
            running(),
        );
        evicted["metadata"]["deletionTimestamp"] = ago(10).into();
        objects.push(evicted);
    }
    objects.extend([removed, gone]);
}

/// Machines that their cloud takes back: their nodes have taints, their pods end, and others start elsewhere.
pub(super) fn reclaim(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    for (index, taint) in [
        json!({"key": "aws-node-termination-handler/spot-itn", "value": "1", "effect": "NoSchedule"}),
        json!({"key": "cloud.google.com/impending-node-termination", "effect": "NoSchedule"}),
        json!({"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("noise-spot-{index}");
        let mut spot = copy_node(&node, &name, 20_000);
        add_taints(&mut spot, &[taint]);
        let more = daemon_pods(objects, &node, &name, 19_000, &running());
        objects.extend(more);
        let mut going = workload(&format!("spot-{index}"), &spot, 7200, "Job/spot", running());
        going["metadata"]["deletionTimestamp"] = ago(4).into();
        objects.push(going);
        objects.push(spot);
    }
    let mut shut = workload(
        "spot-shut",
        &node,
        7200,
        "Job/spot",
        ended("Failed", 143, "Error"),
    );
    shut["status"]["reason"] = "Terminated".into();
    shut["status"]["message"] = "Pod was terminated in response to imminent node shutdown.".into();
    objects.push(shut);
    let mut next = workload("spot-next", &node, 10, "Job/spot", waiting(10));
    next["spec"].as_object_mut().unwrap().remove("nodeName");
    objects.push(next);
}

/// A node that is drained: it is cordoned, its pods were evicted a minute ago, and others wait for a node.
pub(super) fn drain(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    let mut drained = copy_node(&node, "noise-drained", 30_000);
    drained["spec"]["unschedulable"] = true.into();
    let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": ago(90)});
    add_taints(&mut drained, &[taint]);
    let more = daemon_pods(objects, &node, "noise-drained", 29_000, &running());
    objects.extend(more);
    let mut evicted = workload("drain-0", &drained, 7200, "ReplicaSet/drain", running());
    evicted["metadata"]["deletionTimestamp"] = ago(30).into();
    evicted["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastTransitionTime": ago(60),
        }));
    objects.push(event(&evicted, "Killing", "Stopping container main", 60));
    objects.push(evicted);
    let mut next = workload("drain-1", &drained, 60, "ReplicaSet/drain", waiting(60));
    next["spec"].as_object_mut().unwrap().remove("nodeName");
    objects.push(event(
        &next,
        "FailedScheduling",
        "0/9 nodes are available: 1 node(s) were unschedulable.",
        55,
    ));
    objects.push(next);
    objects.push(drained);
}

/// A node on which the GPU Operator replaces the driver: it is cordoned, and its components are stopped.
///
/// Source: NVIDIA/k8s-driver-manager `cmd/driver-manager/main.go`, NVIDIA/k8s-operator-libs `pkg/upgrade`, 2026-11-28.
pub(super) fn upgrade_driver(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects)
        .filter(|node| node["metadata"]["labels"]["nvidia.com/gpu.deploy.driver"] == "true")
    else {
        return;
    };
    let mut upgraded = copy_node(&node, "noise-upgraded", 30_000);
    upgraded["spec"]["unschedulable"] = true.into();
    let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    add_taints(&mut upgraded, &[taint]);
    let labels = &mut upgraded["metadata"]["labels"];
    labels["nvidia.com/gpu-driver-upgrade-state"] = "pod-restart-required".into();
    for component in ["device-plugin", "container-toolkit", "dcgm-exporter"] {
        let key = format!("nvidia.com/gpu.deploy.{component}");
        labels[key] = "paused-for-driver-upgrade".into();
    }
    for resource in gpu_resources(&upgraded) {
        upgraded["status"]["allocatable"][resource] = "0".into();
    }
    let pods = daemon_pods(objects, &node, "noise-upgraded", 200, &creating());
    let is_driver = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str().unwrap();
        name.starts_with("nvidia-driver-daemonset")
    };
    objects.extend(pods.into_iter().filter(is_driver));
    objects.push(upgraded);
}

/// A node whose kubelet restarted some seconds ago.
pub(super) fn restart_kubelet(objects: &mut Vec<Value>) {
    let Some(node) = gpu_node(objects) else {
        return;
    };
    let mut restarted = copy_node(&node, "noise-restarted", 30_000);
    set_ready(
        &mut restarted,
        "True",
        "KubeletReady",
        "kubelet is ready",
        15,
    );
    objects.push(event(
        &restarted,
        "NodeNotReady",
        "Node status is now: NodeNotReady",
        40,
    ));
    objects.push(event(
        &restarted,
        "Rebooted",
        "Node has been rebooted, boot id: 1",
        40,
    ));
    for resource in gpu_resources(&restarted) {
        restarted["status"]["allocatable"][resource] = "0".into();
    }
    let mut pods = daemon_pods(objects, &node, "noise-restarted", 29_000, &running());
    for pod in &mut pods {
        pod["status"]["conditions"][1]["lastTransitionTime"] = ago(10).into();
    }
    objects.extend(pods);
    objects.push(restarted);
}
