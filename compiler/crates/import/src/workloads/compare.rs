//! Whether an object of the cluster is the one that the new file builds, apart from what the API server and the
//! controllers add.
//!
//! Source of the defaults: kubernetes `pkg/apis/*/v1/defaults.go`, and the CustomResourceDefinitions of JobSet,
//! LeaderWorkerSet and Kubeflow (partly from memory), 2026-11-28.

use serde_json::{Map, Value};

use crate::differences::is_equal;

/// Fields to which the API server or a controller gives any value.
const ANY_VALUE: &[&str] = &[
    "clusterIP",
    "clusterIPs",
    "creationTimestamp",
    "finalizers",
    "generation",
    "healthCheckNodePort",
    "ipFamilies",
    "ipFamilyPolicy",
    "managedFields",
    "nodePort",
    "ownerReferences",
    "resourceVersion",
    "serviceAccount",
    "status",
    "subdomain",
    "suspend",
    "uid",
    "volumeName",
];

/// Fields with a default, and the defaults as JSON.
const DEFAULTS: &[(&str, &[&str])] = &[
    ("allocateLoadBalancerNodePorts", &["true"]),
    ("apiVersion", &[r#""v1""#]),
    ("backoffLimit", &["6"]),
    ("completionMode", &[r#""NonIndexed""#]),
    ("defaultMode", &["420"]),
    ("divisor", &[r#""0""#]),
    ("dnsPolicy", &[r#""ClusterFirst""#]),
    ("enableServiceLinks", &["true"]),
    ("externalTrafficPolicy", &[r#""Cluster""#]),
    ("failedJobsHistoryLimit", &["1"]),
    ("failureThreshold", &["3"]),
    ("groupName", &[r#""default""#]),
    ("imagePullPolicy", &[r#""IfNotPresent""#, r#""Always""#]),
    ("initialDelaySeconds", &["0"]),
    ("internalTrafficPolicy", &[r#""Cluster""#]),
    (
        "managedBy",
        &[
            r#""jobset.sigs.k8s.io/jobset-controller""#,
            r#""kubeflow.org/training-operator""#,
            r#""trainer.kubeflow.org/trainjob-controller""#,
        ],
    ),
    ("manualSelector", &["false"]),
    ("networkConfig", &[r#"{"subdomainPolicy": "Shared"}"#]),
    ("parallelism", &["1"]),
    ("periodSeconds", &["10"]),
    (
        "persistentVolumeClaimRetentionPolicy",
        &[r#"{"whenDeleted": "Retain", "whenScaled": "Retain"}"#],
    ),
    ("podManagementPolicy", &[r#""OrderedReady""#]),
    (
        "podReplacementPolicy",
        &[r#""TerminatingOrFailed""#, r#""Failed""#],
    ),
    ("progressDeadlineSeconds", &["600"]),
    ("protocol", &[r#""TCP""#]),
    ("restartPolicy", &[r#""Always""#]),
    ("revisionHistoryLimit", &["10"]),
    (
        "rolloutStrategy",
        &[
            r#"{"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0}}"#,
        ],
    ),
    ("schedulerName", &[r#""default-scheduler""#]),
    ("scheme", &[r#""HTTP""#]),
    ("sessionAffinity", &[r#""None""#]),
    (
        "startupPolicy",
        &[
            r#"{"startupPolicyOrder": "AnyOrder"}"#,
            r#""LeaderCreated""#,
        ],
    ),
    (
        "strategy",
        &[
            r#"{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}"#,
        ],
    ),
    ("successPolicy", &[r#"{"operator": "All"}"#, r#""""#]),
    ("successThreshold", &["1"]),
    ("successfulJobsHistoryLimit", &["3"]),
    ("terminationGracePeriodSeconds", &["30"]),
    ("terminationMessagePath", &[r#""/dev/termination-log""#]),
    ("terminationMessagePolicy", &[r#""File""#]),
    ("timeoutSeconds", &["1"]),
    ("type", &[r#""RollingUpdate""#, r#""ClusterIP""#]),
    (
        "updateStrategy",
        &[r#"{"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}"#],
    ),
    ("volumeMode", &[r#""Filesystem""#]),
];

/// Whether a value is a default of a field.
fn is_default(key: &str, value: &Value) -> bool {
    let mut defaults = DEFAULTS
        .iter()
        .filter(|(field, _)| *field == key)
        .flat_map(|(_, values)| *values);
    ANY_VALUE.contains(&key)
        || defaults.any(|text| serde_json::from_str(text).is_ok_and(|it: Value| it == *value))
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
        let is_added = is_of_metadata && ADDED.iter().any(|prefix| key.starts_with(prefix));
        let is_replicas = path == "spec" && key == "replicas";
        let is_same = is_empty(value)
            || is_added
            || is_replicas
            || (!is_of_metadata && is_default(key, value));
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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_sorted_json() {
        assert!(DEFAULTS.is_sorted_by_key(|(key, _)| *key) && ANY_VALUE.is_sorted());
        for text in DEFAULTS.iter().flat_map(|(_, values)| *values) {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
    }

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
