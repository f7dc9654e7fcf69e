//! Pod controllers are checked like their pods, and DaemonSets have the permissions they need.

use serde_json::{Value, json};

use super::api_server::AdmissionResult;
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
    pod["metadata"]["ownerReferences"] = json!([{"kind": "DaemonSet", "name": "a"}]);
    assert_eq!(plan.admit_create(&pod, SANDBOX), []);
}
