//! The network topology of nodes, for jobs with much communication between pods.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;
use gpuc_syntax::source::Span;
use serde_json::json;

use super::{API_VERSION, COMPONENT};

/// The one topology of a cluster.
pub(super) const TOPOLOGY_NAME: &str = "network";

/// The span that enables topology-aware scheduling for a pool.
pub(super) fn topology_span(cluster: &Checked<'_>, pool: &Pool) -> Option<Span> {
    let topology = cluster.config.kueue.as_ref()?.topology.as_ref()?;
    let mut pools = topology.pools.iter();
    let listed = pools.find(|name| name.value == pool.name.value)?;
    Some(listed.span)
}

/// The Topology, if the file has one.
pub(super) fn object(cluster: &Checked<'_>) -> Option<Object> {
    let topology = cluster.config.kueue.as_ref()?.topology.as_ref()?;
    let levels = gpuc_model::topology_levels(cluster, topology);
    let levels: Vec<_> = levels
        .iter()
        .map(|level| json!({"nodeLabel": level}))
        .collect();
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "Topology",
        "metadata": {"name": TOPOLOGY_NAME, "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
        "spec": {"levels": levels},
    });
    let listed = topology.levels.iter().map(|level| level.span);
    let inputs = listed.chain([topology.span]);
    let reason = "these labels give the position of nodes in the network";
    Some(Object::new(
        COMPONENT,
        &object,
        Origin::rule(inputs, reason),
    ))
}
