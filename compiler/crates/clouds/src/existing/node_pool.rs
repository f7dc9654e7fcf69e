//! The NodePool of a pool on CoreWeave.
//!
//! Schema and meaning: <https://docs.coreweave.com/products/cks/reference/node-pool>, read 2026-11-29.

use gpuc_model::plan::Object;
use gpuc_model::{Pool, PoolTaint, SetBy};
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::providers::ProviderFacts;

/// The folder of the manifests.
const COMPONENT: &str = "node-pools";

/// The annotation with the labels of gpuc, as on hosts that gpuc prepares. `gpuc import` recognizes nodes by it.
const LABELS_ANNOTATION: &str = "gpuc.dev/labels";

/// Whether gpuc writes the NodePool of a pool.
pub(super) fn is_written(provider: &ProviderFacts, pool: &Pool) -> bool {
    provider.writes_node_pools && !pool.is_existing() && pool.machine_name.is_some()
}

/// The NodePool of a pool. The number of nodes is fixed: CoreWeave's autoscaler changes `targetNodes`, which is
/// required, so that each synchronization would revert it.
pub(super) fn object(pool: &Pool) -> Object {
    let nodes = pool.nodes.expect_resolved();
    let labels: Map<String, Value> = (pool.labels.iter())
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let keys: Vec<_> = labels.keys().map(String::as_str).collect();
    let taints = pool.taints.iter();
    let taints: Vec<_> = taints
        .filter(|taint| taint.set_by == SetBy::Gpuc)
        .map(taint_object)
        .collect();
    let machine = pool.machine_name.as_ref();
    let machine = machine.unwrap_or_else(|| unreachable!("the pool has an instance type"));
    let mut spec = json!({
        "computeClass": "default",
        "instanceType": machine.value,
        "autoscaling": false,
        "targetNodes": nodes.max,
        "nodeAnnotations": {LABELS_ANNOTATION: keys.join(",")},
        "nodeLabels": labels,
    });
    if !taints.is_empty() {
        spec["nodeTaints"] = json!(taints);
    }
    let object = json!({
        "apiVersion": "compute.coreweave.com/v1alpha1",
        "kind": "NodePool",
        "metadata": {
            "name": pool.name.value,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": spec,
    });
    let mut inputs = gpuc_model::derive::origins::placement_spans(pool);
    inputs.extend(pool.labels.iter().flat_map(|label| label.origin.inputs()));
    inputs.extend([machine.span, nodes.max_span]);
    let reason = "CoreWeave creates the nodes of a NodePool";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason)).with_machines()
}

fn taint_object(taint: &PoolTaint) -> Value {
    json!({"key": taint.key, "value": taint.value, "effect": taint.effect.as_str()})
}
