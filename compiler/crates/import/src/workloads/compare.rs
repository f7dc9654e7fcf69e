//! Whether an object of the cluster is the one that the new file builds, apart from what the API server and the
//! controllers add.
//!
//! Source of the defaults: kubernetes `pkg/apis/*/v1/defaults.go`, and the CustomResourceDefinitions of JobSet,
//! LeaderWorkerSet and Kubeflow (partly from memory), 2026-11-28.

use serde_json::{Map, Value, json};

use crate::differences::is_equal;

/// Fields that the API server or a controller sets by itself, each with its default; `null` for any value.
fn default_of(key: &str) -> Option<Vec<Value>> {
    let values = match key {
        "status"
        | "uid"
        | "resourceVersion"
        | "generation"
        | "creationTimestamp"
        | "managedFields"
        | "finalizers"
        | "ownerReferences"
        | "serviceAccount"
        | "clusterIP"
        | "clusterIPs"
        | "ipFamilies"
        | "ipFamilyPolicy"
        | "nodePort"
        | "healthCheckNodePort"
        | "volumeName"
        | "suspend"
        | "subdomain" => {
            vec![json!(null)]
        }
        "terminationMessagePath" => vec![json!("/dev/termination-log")],
        "terminationMessagePolicy" => vec![json!("File")],
        "imagePullPolicy" => vec![json!("IfNotPresent"), json!("Always")],
        "dnsPolicy" => vec![json!("ClusterFirst")],
        "schedulerName" => vec![json!("default-scheduler")],
        "restartPolicy" => vec![json!("Always")],
        "terminationGracePeriodSeconds" => vec![json!(30)],
        "enableServiceLinks" | "allocateLoadBalancerNodePorts" => vec![json!(true)],
        "progressDeadlineSeconds" => vec![json!(600)],
        "revisionHistoryLimit" => vec![json!(10)],
        "type" => vec![json!("RollingUpdate"), json!("ClusterIP")],
        "podManagementPolicy" => vec![json!("OrderedReady")],
        "updateStrategy" => {
            vec![json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})]
        }
        "strategy" => vec![json!({
            "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
        })],
        "persistentVolumeClaimRetentionPolicy" => {
            vec![json!({"whenDeleted": "Retain", "whenScaled": "Retain"})]
        }
        "protocol" => vec![json!("TCP")],
        "initialDelaySeconds" => vec![json!(0)],
        "successThreshold" | "timeoutSeconds" | "failedJobsHistoryLimit" | "parallelism" => {
            vec![json!(1)]
        }
        "failureThreshold" | "successfulJobsHistoryLimit" => vec![json!(3)],
        "periodSeconds" => vec![json!(10)],
        "scheme" => vec![json!("HTTP")],
        "defaultMode" => vec![json!(420)],
        "manualSelector" => vec![json!(false)],
        "backoffLimit" => vec![json!(6)],
        "completionMode" => vec![json!("NonIndexed")],
        "podReplacementPolicy" => vec![json!("TerminatingOrFailed"), json!("Failed")],
        "internalTrafficPolicy" | "externalTrafficPolicy" => vec![json!("Cluster")],
        "sessionAffinity" => vec![json!("None")],
        "volumeMode" => vec![json!("Filesystem")],
        "apiVersion" => vec![json!("v1")],
        "divisor" => vec![json!("0")],
        "successPolicy" => vec![json!({"operator": "All"}), json!("")],
        "startupPolicy" => vec![
            json!({"startupPolicyOrder": "AnyOrder"}),
            json!("LeaderCreated"),
        ],
        "groupName" => vec![json!("default")],
        "networkConfig" => vec![json!({"subdomainPolicy": "Shared"})],
        "rolloutStrategy" => vec![json!({
            "type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0},
        })],
        "managedBy" => vec![
            json!("jobset.sigs.k8s.io/jobset-controller"),
            json!("trainer.kubeflow.org/trainjob-controller"),
            json!("kubeflow.org/training-operator"),
        ],
        _ => return None,
    };
    Some(values)
}

/// The beginnings of the keys of labels and annotations that controllers add.
const ADDED: &[&str] = &[
    "argocd.argoproj.io/",
    "autoscaling.alpha.kubernetes.io/",
    "batch.kubernetes.io/",
    "controller-uid",
    "deployment.kubernetes.io/",
    "job-name",
    "kubectl.kubernetes.io/",
    "kueue.x-k8s.io/job-",
    "kustomize.toolkit.fluxcd.io/",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
];

/// The path of the first field that differs; `None` if the objects are the same.
pub(crate) fn difference(built: &Value, found: &Value) -> Option<String> {
    let mut found = found.clone();
    if found["kind"] == "Job"
        && let Some(spec) = found.get_mut("spec").and_then(Value::as_object_mut)
    {
        // The controller of Jobs selects pods by a label of its own.
        spec.remove("selector");
    }
    compare("", built, &found)
}

fn compare(path: &str, built: &Value, found: &Value) -> Option<String> {
    match (built, found) {
        (Value::Object(built), Value::Object(found)) => compare_maps(path, built, found),
        (Value::Array(items), Value::Array(others)) => {
            if items.len() != others.len() {
                return Some(path.to_owned());
            }
            let mut pairs = items.iter().zip(others).enumerate();
            pairs.find_map(|(index, (built, found))| {
                compare(&format!("{path}[{index}]"), built, found)
            })
        }
        (built, found) if is_empty(built) && is_empty(found) => None,
        (built, found) => (!is_equal(path, built, found)).then(|| path.to_owned()),
    }
}

fn compare_maps(
    path: &str,
    built: &Map<String, Value>,
    found: &Map<String, Value>,
) -> Option<String> {
    let child = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    // gpuc removes the values of other variables than those of GPUs before it reads them.
    let is_variable = path
        .rsplit('.')
        .next()
        .is_some_and(|part| part.starts_with("env["));
    let is_known = |entries: &Map<String, Value>| {
        ["value", "valueFrom"]
            .iter()
            .any(|key| entries.contains_key(*key))
    };
    if is_variable && !is_known(built) && !is_known(found) {
        return Some(child("value"));
    }
    for (key, value) in built {
        let other = found.get(key).unwrap_or(&Value::Null);
        let is_removed =
            is_variable && key == "value" && other.is_null() && found.get("valueFrom").is_none();
        if !is_removed && let Some(path) = compare(&child(key), value, other) {
            return Some(path);
        }
    }
    let is_of_metadata =
        path.ends_with("labels") || path.ends_with("annotations") || path.ends_with("matchLabels");
    let mut more = found.iter().filter(|(key, _)| !built.contains_key(*key));
    more.find_map(|(key, value)| {
        let is_default = || {
            default_of(key)
                .is_some_and(|values| values.iter().any(|it| it.is_null() || it == value))
        };
        let is_added = is_of_metadata && ADDED.iter().any(|prefix| key.starts_with(prefix));
        let is_replicas = path == "spec" && key == "replicas";
        let is_same =
            is_empty(value) || is_added || is_replicas || (!is_of_metadata && is_default());
        let only_added = value.as_object().is_some_and(|entries| {
            let keys = ["labels", "annotations", "metadata"].contains(&key.as_str());
            keys && compare_maps(key, &Map::new(), entries).is_none()
        });
        (!is_same && !only_added).then(|| child(key))
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_the_api_server_are_no_differences() {
        let built = json!({"kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {
            "containers": [{"name": "main", "image": "i:1", "env": [{"name": "A", "value": "1"}]}],
        }}}});
        let found = json!({"kind": "Job", "metadata": {"name": "a", "uid": "1"}, "spec": {
            "backoffLimit": 6, "selector": {"matchLabels": {"controller-uid": "1"}},
            "template": {"metadata": {"labels": {"job-name": "a"}}, "spec": {"dnsPolicy": "ClusterFirst", "containers": [
                {"name": "main", "image": "i:1", "env": [{"name": "A"}], "imagePullPolicy": "Always"},
            ]}},
        }, "status": {"active": 1}});
        assert_eq!(difference(&built, &found), None);
    }

    #[test]
    fn other_values_and_fields_are_differences() {
        let built = json!({"spec": {"containers": [{"name": "main", "image": "i:1"}]}});
        for (found, path) in [
            (
                json!({"spec": {"containers": [{"name": "main", "image": "i:2"}]}}),
                "spec.containers[0].image",
            ),
            (
                json!({"spec": {"containers": [{"name": "main", "image": "i:1", "tty": true}]}}),
                "spec.containers[0].tty",
            ),
            (
                json!({"spec": {"containers": [{"name": "main", "image": "i:1"}, {}]}}),
                "spec.containers",
            ),
            (
                json!({"spec": {"containers": [{"name": "main", "image": "i:1", "env": [{"name": "A"}]}]}}),
                "spec.containers[0].env",
            ),
            (
                json!({"spec": {"containers": [{"name": "main", "image": "i:1"}], "backoffLimit": 2}}),
                "spec.backoffLimit",
            ),
        ] {
            assert_eq!(difference(&built, &found).as_deref(), Some(path));
        }
    }
}
