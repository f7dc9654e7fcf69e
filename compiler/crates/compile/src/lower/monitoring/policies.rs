//! NetworkPolicies of the exporters: only Prometheus may scrape them, because their metrics name the pods of all teams.
//!
//! Only ingress is restricted: an exporter still reaches the API server and the node's own services. Probes of the
//! kubelet come from the pod's own node, which policies cannot block.
//!
//! Source: <https://kubernetes.io/docs/concepts/services-networking/network-policies/>, read 2026-11-21.

use gpuc_model::TEAM_LABEL;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::config::Prometheus;
use serde_json::{Value, json};

use super::exporter::RUNTIME_JOB;
use super::labels;
use super::monitors::{PORT, scrape_groups};
use crate::charts::kube_prometheus_stack;
use crate::lower::{POD_NAME_LABEL, RUNTIME_NAME};

/// The folder of the manifests, except that of gpuc-runtime. It is separate so that the policies do not depend on the
/// Prometheus Operator's CRDs.
const COMPONENT: &str = "network-policies";

/// The label that Kubernetes sets on every namespace, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The value of the label `app.kubernetes.io/name` of the pods that the Prometheus Operator creates for a Prometheus.
///
/// Source: prometheus-operator/kube-prometheus@01004de7 manifests/nodeExporter-networkPolicy.yaml, which allows the
/// same.
const PROMETHEUS: &str = "prometheus";

/// One policy in each namespace with scraped pods.
pub(super) fn policies(cluster: &Checked<'_>) -> Vec<Object> {
    let from = prometheus_peer(cluster);
    let mut policies = Vec::new();
    for scraped in scrape_groups(cluster) {
        // The metrics of gpuc-runtime exist without `monitoring`, too.
        let is_runtime = scraped.name == RUNTIME_JOB;
        let component = if is_runtime { RUNTIME_NAME } else { COMPONENT };
        let origin = scraped.origin(cluster, "only Prometheus needs to read these metrics");
        for namespace in &scraped.namespaces {
            let object = json!({
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {"name": scraped.name, "namespace": namespace, "labels": labels()},
                "spec": {
                    "podSelector": {"matchLabels": {scraped.pods.0: scraped.pods.1}},
                    "policyTypes": ["Ingress"],
                    "ingress": [{"from": [from], "ports": [{"protocol": "TCP", "port": PORT}]}],
                },
            });
            policies.push(Object::new(component, &object, origin.clone()));
        }
    }
    policies
}

/// The sentence about them in the generated README.
pub(super) fn readme_sentence(prometheus: Option<&Prometheus>) -> String {
    let sources = match prometheus {
        Some(Prometheus::Install(_)) => {
            format!("the namespace {}", kube_prometheus_stack::NAMESPACE)
        }
        Some(Prometheus::Existing(_)) | None => {
            "any namespace that does not belong to a team".to_owned()
        }
    };
    format!(
        "NetworkPolicies allow only the pods with the label {POD_NAME_LABEL}={PROMETHEUS} in {sources} to reach the \
         metrics of GPUs. To allow other clients, add a NetworkPolicy of your own."
    )
}

/// The pods of Prometheus: in its namespace if gpuc installs it; otherwise in any namespace that does not belong to a
/// team.
pub(in crate::lower) fn prometheus_peer(cluster: &Checked<'_>) -> Value {
    let monitoring = cluster.config.monitoring.as_ref();
    let namespaces = match monitoring.map(|it| &it.prometheus.value) {
        Some(Prometheus::Install(_)) => {
            json!({"matchLabels": {NAMESPACE_NAME: kube_prometheus_stack::NAMESPACE}})
        }
        // Any team can set this label on its own pods, so the namespaces of teams are excluded.
        Some(Prometheus::Existing(_)) | None => {
            json!({"matchExpressions": [{"key": TEAM_LABEL, "operator": "DoesNotExist"}]})
        }
    };
    json!({
        "namespaceSelector": namespaces,
        "podSelector": {"matchLabels": {POD_NAME_LABEL: PROMETHEUS}},
    })
}
