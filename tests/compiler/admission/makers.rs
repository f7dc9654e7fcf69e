//! Pod controllers are checked like their pods, and DaemonSets have the permissions they need.

use serde_json::{Value, json};

use super::api_server::Said;
use super::{SANDBOX, asking, enforced, pod};

/// A pod controller, with the path of its pod spec if it has one.
fn makers(pod: &Value) -> Vec<Value> {
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
    let plan = enforced();
    let (bad, good) = (
        asking("nvidia.com/gpu.type: '1'", ""),
        asking("cpu: '1'", ""),
    );
    for (bad, good) in makers(&bad).into_iter().zip(makers(&good)) {
        let refused = |said: &[Said]| matches!(said, [Said::Refused(_)]);
        assert!(refused(&plan.made(&bad, SANDBOX)), "{bad:#}");
        assert!(refused(&plan.changed(&good, &bad, SANDBOX)), "{bad:#}");
        assert_eq!(plan.made(&good, SANDBOX), []);
        assert_eq!(plan.changed(&bad, &good, SANDBOX), []);
        let mut scaled = bad.clone();
        scaled["spec"]["replicas"] = json!(3);
        scaled["metadata"]["annotations"] = json!({"revision": "2"});
        assert_eq!(plan.changed(&bad, &scaled, SANDBOX), [], "{bad:#}");
    }
    assert_eq!(
        plan.changed(&good, &bad, SANDBOX),
        [],
        "a pod's containers keep their requests"
    );
}

#[test]
fn daemon_sets_can_read_every_node() {
    let plan = enforced();
    let spec = "{containers: [{name: a, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}], runtimeClassName: nvidia, \
                tolerations: [{key: nvidia.com/gpu, operator: Exists}], volumes: [{name: a, hostPath: {path: /dev/nvidia0}}]}";
    let mut pod = pod(spec);
    assert_eq!(
        plan.made(&pod, SANDBOX).len(),
        3,
        "the runtime class is said with the variable"
    );
    assert_eq!(plan.made(&makers(&pod)[3], SANDBOX), []);
    pod["metadata"]["ownerReferences"] = json!([{"kind": "DaemonSet", "name": "a"}]);
    assert_eq!(plan.made(&pod, SANDBOX), []);
}
