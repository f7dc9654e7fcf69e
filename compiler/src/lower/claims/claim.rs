//! Claims: what a namespace has so that its pods get devices of a class.

use serde_json::{Map, Value, json};

use super::API_VERSION;
use crate::model::{DeviceClass, Pool};

/// What the one request of a claim is called.
const REQUEST: &str = "gpus";

/// A ResourceClaimTemplate: each pod that names it gets a claim of its own for so many devices of a class.
///
/// Without a namespace it is what a reader puts into one.
pub(crate) fn claim_template(
    name: &str,
    namespace: Option<&str>,
    class: &DeviceClass,
    count: u32,
) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": {"devices": {"requests": [{
            "name": REQUEST,
            "exactly": {
                "deviceClassName": class.name,
                "allocationMode": "ExactCount",
                "count": count,
            },
        }]}}},
    })
}

/// The specification of a pod on a pool's nodes whose container has the devices of a claim template.
pub(crate) fn pod(pool: &Pool, template: &str) -> Value {
    let labels = pool.selector.iter();
    let selector: Map<String, Value> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut spec = json!({
        "nodeSelector": selector,
        "resourceClaims": [{"name": REQUEST, "resourceClaimTemplateName": template}],
        "containers": [{
            "name": "main",
            "image": "nvidia/cuda:13.0.1-base-ubuntu24.04",
            "command": ["nvidia-smi", "-L"],
            "resources": {"claims": [{"name": REQUEST}]},
        }],
    });
    let tolerations = crate::lower::tolerations(pool);
    if !tolerations.is_empty() {
        spec["tolerations"] = json!(tolerations);
    }
    spec
}
