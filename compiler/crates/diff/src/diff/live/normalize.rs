//! Objects of the API server without the fields that it manages itself.

use gpuc_compile::lock;
use serde_json::{Map, Value as Json};

/// Fields of `metadata` that the API server sets.
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>, 2026-11-28.
const SERVER_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations that record a deployment.
const RECORDS: &[&str] = &[
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The object without its status and without fields that the API server manages. The values of a Secret become digests.
pub(super) fn normalize(object: &Json) -> Json {
    let mut object = object.clone();
    let is_secret = object["kind"] == "Secret";
    let Some(fields) = object.as_object_mut() else {
        return object;
    };
    fields.remove("status");
    if is_secret {
        for part in ["data", "stringData"] {
            if let Some(Json::Object(entries)) = fields.get_mut(part) {
                hide_values(entries);
            }
        }
    }
    if let Some(Json::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|key, _| !SERVER_METADATA.contains(&key.as_str()));
        if let Some(Json::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.retain(|key, _| !RECORDS.contains(&key.as_str()));
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

fn hide_values(entries: &mut Map<String, Json>) {
    for value in entries.values_mut() {
        let digest = lock::digest(value.to_string().as_bytes());
        *value = Json::from(digest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_the_server_are_removed() {
        let object = json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": "1", "generation": 3, "labels": {"b": "c"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            },
            "data": {"x": "1"},
            "status": {"ready": true},
        });
        let expected = json!({
            "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"b": "c"}},
            "data": {"x": "1"},
        });
        assert_eq!(normalize(&object), expected);
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let object = json!({"kind": "Secret", "data": {"token": "aHVudGVyMg=="}});
        let text = normalize(&object).to_string();
        assert!(!text.contains("aHVudGVyMg"), "{text}");
        let other = json!({"kind": "Secret", "data": {"token": "b3RoZXI="}});
        assert_ne!(normalize(&object), normalize(&other));
    }
}
