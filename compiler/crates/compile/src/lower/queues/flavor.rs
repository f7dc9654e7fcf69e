//! ResourceFlavors: the node labels, taints and tolerations of pools for Kueue.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::Toleration;
use serde_json::{Value, json};

use super::{API_VERSION, COMPONENT};

/// The flavor of CPU and memory, which are counted on all nodes.
pub(crate) const UNPINNED: &str = "anywhere";

/// The name of a pool's flavor; the prefix distinguishes it from [`UNPINNED`].
pub(super) fn flavor_name(pool: &Pool) -> String {
    format!("pool-{}", pool.name.value)
}

/// The flavor of a pool. Kueue gives its labels and tolerations to the pods that it lets onto the pool, so that a job
/// need not write them.
///
/// The labels are those that nodes have from the start: an autoscaler knows them before there is a node.
pub(super) fn pool_flavor(cluster: &Checked<'_>, pool: &Pool) -> Object {
    let labels = pool.selector.iter();
    let labels: serde_json::Map<String, Value> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut spec = json!({"nodeLabels": labels});
    let tolerations = gpuc_model::derive::tolerations(pool);
    if !tolerations.is_empty() {
        let taint =
            |it: &Toleration| json!({"key": it.key, "value": it.value, "effect": it.effect});
        spec["nodeTaints"] = tolerations.iter().map(taint).collect();
        spec["tolerations"] = json!(tolerations);
    }
    let mut inputs = gpuc_model::derive::origins::placement_spans(pool);
    if let Some(listed) = super::topology::topology_span(cluster, pool) {
        spec["topologyName"] = json!(super::topology::TOPOLOGY_NAME);
        inputs.push(listed);
    }
    let reason = "Kueue admits jobs to this pool by its labels and taints";
    flavor_object(&flavor_name(pool), &spec, Origin::rule(inputs, reason))
}

/// The flavor of resources that are counted on all nodes.
pub(super) fn unpinned_flavor(origin: Origin) -> Object {
    flavor_object(UNPINNED, &json!({}), origin)
}

fn flavor_object(name: &str, spec: &Value, origin: Origin) -> Object {
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "ResourceFlavor",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
        "spec": spec,
    });
    Object::new(COMPONENT, &object, origin)
}
