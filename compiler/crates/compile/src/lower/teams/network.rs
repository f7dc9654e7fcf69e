//! The allowed traffic of an isolated namespace: a NetworkPolicy.
//!
//! Policies are additive, so a team allows more with a policy of its own. Probes of the kubelet come from the pod's own
//! node, which policies cannot block. Policies do not apply to traffic through separate network interfaces, such as
//! RDMA.
//!
//! Source: <https://kubernetes.io/docs/concepts/services-networking/network-policies/>, read 2026-11-21.

use gpuc_model::Team;
use gpuc_model::check::Checked;
use gpuc_model::plan::{KUBE_SYSTEM, Object};
use gpuc_schema::config::TeamNetwork;
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::{COMPONENT, ISOLATION, labels, spans};
use crate::lower::monitoring;

/// The label that Kubernetes sets on every namespace, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The addresses of a node-local DNS cache, by default 169.254.20.10.
///
/// Source: <https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/>, read 2026-11-21.
const LINK_LOCAL: &str = "169.254.0.0/16";

/// The NetworkPolicy of a namespace; `None` if it is open.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let network = &team.settings.network;
    if network.value == TeamNetwork::Open {
        return None;
    }
    let names: Vec<_> = team.namespaces.iter().map(|it| it.as_str()).collect();
    let own_namespaces = json!({"namespaceSelector": {"matchExpressions": [
        {"key": NAMESPACE_NAME, "operator": "In", "values": names},
    ]}});
    let mut ingress = vec![json!({"from": [own_namespaces.clone()]})];
    let monitoring = cluster.config.monitoring.as_ref();
    if monitoring.is_some() {
        ingress.push(json!({"from": [monitoring::prometheus_peer(cluster)]}));
    }
    let dns = json!({
        "to": [
            {"namespaceSelector": {"matchLabels": {NAMESPACE_NAME: KUBE_SYSTEM}}},
            {"ipBlock": {"cidr": LINK_LOCAL}},
        ],
        "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
    });
    let object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": ISOLATION,
            "namespace": team.namespaces[index].value,
            "labels": labels(team),
        },
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [{"to": [own_namespaces]}, dns],
        },
    });
    let inputs = spans(team, index).into_iter().chain([network.span]);
    let reason =
        "an isolated team reaches its own namespaces and the DNS, and Prometheus scrapes its pods";
    Some(Object::new(
        COMPONENT,
        &object,
        Origin::rule(inputs, reason),
    ))
}
