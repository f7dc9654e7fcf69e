//! Whom the pods of an isolated namespace may talk to: a `NetworkPolicy`.
//!
//! Policies add up, so that a team opens more by one of its own. Probes of the kubelet come from the pod's own node,
//! which no policy shuts out. What goes by a network card of its own, as RDMA does, no policy sees.
//!
//! Source: <https://kubernetes.io/docs/concepts/services-networking/network-policies/>, read 2026-11-21.

use gpuc_schema::config::TeamNetwork;
use serde_json::json;

use super::{COMPONENT, labels, places};
use crate::chart::KUBE_SYSTEM;
use crate::check::Checked;
use crate::lower::monitoring;
use crate::model::Team;
use crate::node::Origin;
use crate::plan::Object;

/// The label that Kubernetes gives every namespace, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Where a DNS cache of the node's own listens, among others 169.254.20.10.
///
/// Source: <https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/>, read 2026-11-21.
const LINK_LOCAL: &str = "169.254.0.0/16";

/// The policy of a namespace; none where it is open.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let network = &team.written.network;
    if network.value == TeamNetwork::Open {
        return None;
    }
    let names: Vec<_> = team.namespaces.iter().map(|it| it.as_str()).collect();
    let own = json!({"namespaceSelector": {"matchExpressions": [
        {"key": NAMESPACE_NAME, "operator": "In", "values": names},
    ]}});
    let mut ingress = vec![json!({"from": [own.clone()]})];
    let monitoring = cluster.written.monitoring.as_ref();
    if monitoring.is_some() {
        ingress.push(json!({"from": [monitoring::prometheus(cluster)]}));
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
            "name": "team-isolated",
            "namespace": team.namespaces[index].value,
            "labels": labels(team),
        },
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [{"to": [own]}, dns],
        },
    });
    let inputs = places(team, index).into_iter().chain([network.span]);
    let why = "an isolated team talks to itself, asks the DNS, and is watched";
    Some(Object::new(COMPONENT, &object, Origin::rule(inputs, why)))
}
