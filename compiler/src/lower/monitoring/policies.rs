//! Who may ask the exporters: Prometheus, and nobody else in the cluster. What they tell names everybody's pods.
//!
//! Only what comes in is restricted: an exporter still asks the API server and the node's own services. Probes of the
//! kubelet come from the pod's own node, which no policy shuts out.
//!
//! Source: <https://kubernetes.io/docs/concepts/services-networking/network-policies/>, read 2026-11-21.

use gpuc_schema::config::Prometheus;
use serde_json::{Value, json};

use super::labels;
use super::monitors::{PORT, scraped};
use crate::chart::kube_prometheus_stack;
use crate::check::Checked;
use crate::lower::POD_NAME_LABEL;
use crate::model::TEAM_LABEL;
use crate::plan::Object;

/// The folder of the manifests. Of its own, so that the policies need not wait for the Prometheus Operator's kinds.
const COMPONENT: &str = "network-policies";

/// The label that Kubernetes gives every namespace, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The value of the label `app.kubernetes.io/name` of the pods that the Prometheus Operator makes of a Prometheus.
///
/// Source: prometheus-operator/kube-prometheus@01004de7 manifests/nodeExporter-networkPolicy.yaml, which lets in the
/// same.
const PROMETHEUS: &str = "prometheus";

/// One policy in each namespace of what is scraped, for the pods that are.
pub(super) fn policies(cluster: &Checked<'_>) -> Vec<Object> {
    let from = prometheus(cluster);
    let mut policies = Vec::new();
    for scraped in scraped(cluster) {
        let origin = scraped.origin(cluster, "nobody but Prometheus has to read these metrics");
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
            policies.push(Object::new(COMPONENT, &object, origin.clone()));
        }
    }
    policies
}

/// What the tree's README says of them.
pub(super) fn sentence(prometheus: &Prometheus) -> String {
    let place = match prometheus {
        Prometheus::Install(_) => format!("the namespace {}", kube_prometheus_stack::NAMESPACE),
        Prometheus::Existing(_) => "any namespace that is no team's".to_owned(),
    };
    format!(
        "Network policies let the pods with the label {POD_NAME_LABEL}={PROMETHEUS} in {place} ask the exporters, and \
         nobody else in the cluster. Whoever else has to gets a NetworkPolicy of its own beside them."
    )
}

/// The pods of Prometheus: where gpuc installs it, in its namespace; else wherever it runs, but for teams' namespaces.
pub(in crate::lower) fn prometheus(cluster: &Checked<'_>) -> Value {
    let monitoring = cluster.written.monitoring.as_ref();
    let namespaces = match monitoring.map(|it| &it.prometheus.value) {
        Some(Prometheus::Install(_)) => {
            json!({"matchLabels": {NAMESPACE_NAME: kube_prometheus_stack::NAMESPACE}})
        }
        // The label that makes a pod Prometheus' anybody can give to their own: those of teams are left out.
        Some(Prometheus::Existing(_)) | None => {
            json!({"matchExpressions": [{"key": TEAM_LABEL, "operator": "DoesNotExist"}]})
        }
    };
    json!({
        "namespaceSelector": namespaces,
        "podSelector": {"matchLabels": {POD_NAME_LABEL: PROMETHEUS}},
    })
}
