//! Where nodes are in the network, for jobs whose parts talk a lot.

use serde_json::json;

use super::{API_VERSION, COMPONENT};
use crate::check::Checked;
use crate::model::Pool;
use crate::node::Origin;
use crate::plan::Object;
use crate::source::Span;

/// The one topology of a cluster.
pub(super) const NAME: &str = "network";

/// Where the file asks for a pool's jobs to be placed by the network.
pub(super) fn place(cluster: &Checked<'_>, pool: &Pool) -> Option<Span> {
    let topology = cluster.written.kueue.as_ref()?.topology.as_ref()?;
    let mut pools = topology.pools.iter();
    let listed = pools.find(|name| name.value == pool.name.value)?;
    Some(listed.span)
}

/// The topology, where the file asks for one.
pub(super) fn object(cluster: &Checked<'_>) -> Option<Object> {
    let topology = cluster.written.kueue.as_ref()?.topology.as_ref()?;
    let levels = crate::model::topology_levels(cluster, topology);
    let levels: Vec<_> = levels
        .iter()
        .map(|level| json!({"nodeLabel": level}))
        .collect();
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "Topology",
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
        "spec": {"levels": levels},
    });
    let listed = topology.levels.iter().map(|level| level.span);
    let inputs = listed.chain([topology.span]);
    let why = "nodes say by these labels where in the network they are";
    Some(Object::new(COMPONENT, &object, Origin::rule(inputs, why)))
}
