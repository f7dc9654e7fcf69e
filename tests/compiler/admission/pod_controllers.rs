//! Pod controllers are checked like their pods, and DaemonSets have the permissions they need.

use serde_json::{Value, json};

use super::api_server::{AdmissionResult, Request};
use super::{SANDBOX, enforced_server, pod, pod_requesting};

/// The pod controllers with this pod, and a controller without a pod spec.
fn pod_controllers(pod: &Value) -> Vec<Value> {
    let object = |api: &str, kind: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
    let template = json!({"template": {"spec": pod["spec"]}});
    vec![
        object("apps/v1", "Deployment", template.clone()),
        object("apps/v1", "ReplicaSet", template.clone()),
        object("apps/v1", "StatefulSet", template.clone()),
        object("apps/v1", "DaemonSet", template.clone()),
        object("batch/v1", "Job", template.clone()),
        object(
            "batch/v1",
            "CronJob",
            json!({"jobTemplate": {"spec": template}}),
        ),
    ]
}

#[test]
fn pod_controllers_are_checked_on_pod_changes() {
    let plan = enforced_server();
    let (bad, good) = (
        pod_requesting("nvidia.com/gpu.type: '1'", ""),
        pod_requesting("cpu: '1'", ""),
    );
    for (bad, good) in pod_controllers(&bad)
        .into_iter()
        .zip(pod_controllers(&good))
    {
        let refused = |results: &[AdmissionResult]| matches!(results, [AdmissionResult::Denied(_)]);
        assert!(refused(&plan.admit_create(&bad, SANDBOX)), "{bad:#}");
        assert!(refused(&plan.admit_update(&good, &bad, SANDBOX)), "{bad:#}");
        assert_eq!(plan.admit_create(&good, SANDBOX), []);
        assert_eq!(plan.admit_update(&bad, &good, SANDBOX), []);
        let mut scaled = bad.clone();
        let number = if bad["kind"] == "Job" {
            "parallelism"
        } else {
            "replicas"
        };
        if !["CronJob", "DaemonSet"].contains(&bad["kind"].as_str().unwrap()) {
            scaled["spec"][number] = json!(3);
        }
        scaled["metadata"]["annotations"] = json!({"revision": "2"});
        assert_eq!(plan.admit_update(&bad, &scaled, SANDBOX), [], "{bad:#}");
    }
    assert_eq!(
        plan.admit_update(&good, &bad, SANDBOX),
        [],
        "an update of a pod is checked"
    );
}

#[test]
fn daemon_sets_can_read_every_node() {
    let plan = enforced_server();
    let spec = "{containers: [{name: a, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}], runtimeClassName: nvidia, \
                tolerations: [{key: nvidia.com/gpu, operator: Exists}], volumes: [{name: a, hostPath: {path: /dev/nvidia0}}]}";
    let mut pod = pod(spec);
    assert_eq!(
        plan.admit_create(&pod, SANDBOX).len(),
        3,
        "the message about the runtime class also names the variable"
    );
    assert_eq!(plan.admit_create(&pod_controllers(&pod)[3], SANDBOX), []);
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "b", "controller": true});
    pod["metadata"]["ownerReferences"] = json!([owner]);
    let as_user = |user, pod: &Value| {
        let mut request = Request::create(pod, SANDBOX);
        request.user = user;
        plan.admit(request).len()
    };
    let controller = "system:serviceaccount:kube-system:daemon-set-controller";
    assert_eq!(as_user(controller, &pod), 0);
    assert_eq!(as_user("system:kube-controller-manager", &pod), 0);
    assert_eq!(as_user("alice", &pod), 3, "anyone can write an owner");
    // Other controllers of the same component.
    assert_eq!(
        as_user(
            "system:serviceaccount:kube-system:replicaset-controller",
            &pod
        ),
        3
    );
    for (key, value) in [
        ("apiVersion", json!("example.com/v1")),
        ("kind", json!("ReplicaSet")),
        ("controller", json!(false)),
    ] {
        let mut other = pod.clone();
        other["metadata"]["ownerReferences"][0][key] = value;
        assert_eq!(as_user(controller, &other), 3, "{other:#}");
    }
    pod["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(as_user(controller, &pod), 3);
}

/// Tolerations can be added to a pod, and containers to debug it, while it runs.
#[test]
fn changes_of_running_pods_are_checked() {
    let plan = enforced_server();
    let before = pod("{nodeName: node-1, containers: [{name: a, image: b}]}");
    let mut tolerant = before.clone();
    tolerant["spec"]["tolerations"] = json!([{"key": "nvidia.com/gpu", "operator": "Exists"}]);
    let results = plan.admit_update(&before, &tolerant, SANDBOX);
    assert!(
        matches!(&results[..], [AdmissionResult::Warned(message)] if message.contains("tolerates nvidia.com/gpu")),
        "{results:?}"
    );
    let mut labelled = tolerant.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(plan.admit_update(&tolerant, &labelled, SANDBOX), []);
    let debugged = |env: Value| {
        let mut after = before.clone();
        after["spec"]["ephemeralContainers"] = json!([{"name": "d", "image": "b", "env": env}]);
        let mut request = Request::update(&before, &after, SANDBOX);
        request.subresource = "ephemeralcontainers";
        plan.admit(request)
    };
    assert_eq!(debugged(json!([])), []);
    let results = debugged(json!([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]));
    assert!(
        matches!(&results[..], [AdmissionResult::Warned(message)] if message.contains("sets NVIDIA_VISIBLE_DEVICES")),
        "{results:?}"
    );
}
