//! Records what the tests of the policies ask and expect, so that Kubernetes' own code can answer the same.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api_server::{self, AdmissionResult};

/// The variable with the folder to which requests are recorded.
pub(crate) const FOLDER_VARIABLE: &str = "GPUC_RECORDED_ADMISSION";

/// The file in the folder with one [`Request`] per line.
pub(crate) const REQUESTS: &str = "requests.jsonl";

/// A request to an API server, and the results that the tests' model gives.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The file in the folder with the policies.
    pub(crate) policies: String,
    pub(crate) namespace: Value,
    /// An `AdmissionReview`.
    pub(crate) review: Value,
    pub(crate) results: Vec<AdmissionResult>,
}

/// The API groups of the kinds that `policy-check` knows and the policies match.
const GROUPS: &[&str] = &["v1", "apps/v1", "batch/v1"];

/// Records a request if the variable is set.
pub(super) fn record(
    manifests: &[Value],
    request: api_server::Request<'_>,
    results: &[AdmissionResult],
) {
    static LOCK: Mutex<()> = Mutex::new(());
    let version = request.after["apiVersion"].as_str();
    let is_known = version.is_some_and(|version| GROUPS.contains(&version));
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else {
        return;
    };
    if manifests.is_empty() || !is_known {
        return;
    }
    let (name, labels) = request.namespace;
    let folder = Path::new(&folder);
    let text: Vec<_> = manifests.iter().map(Value::to_string).collect();
    let text = text.join("\n---\n");
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let policies = format!("{:016x}.yaml", hasher.finish());
    let labels: serde_json::Map<_, _> = (labels.iter())
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    let request = Request {
        policies: policies.clone(),
        namespace: json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
        }),
        review: json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "1",
                "operation": request.operation(),
                "namespace": name,
                "object": request.after,
                "oldObject": request.before,
                "subResource": request.subresource,
                "userInfo": {"username": request.user},
            },
        }),
        results: results.to_vec(),
    };
    let line = format!("{}\n", serde_json::to_string(&request).unwrap());
    let _guard = LOCK.lock().unwrap();
    let policies = folder.join(policies);
    if !policies.exists() {
        fs::write(policies, text).unwrap();
    }
    let requests = folder.join(REQUESTS);
    let file = OpenOptions::new().create(true).append(true).open(requests);
    file.unwrap().write_all(line.as_bytes()).unwrap();
}
