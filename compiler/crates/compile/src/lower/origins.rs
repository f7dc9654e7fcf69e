//! Origins of parts of objects and values that have fewer inputs than the whole: tolerations follow from taints,
//! selectors from labels, resource names and amounts from the resources that a pool advertises.
//!
//! Objects are built from Kubernetes' own types, which cannot carry origins. These parts look the same everywhere, so
//! one pass over the finished objects finds them.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Delivery, Plan};
use gpuc_syntax::node::{DerivationReason, Node, Origin, Value};
use gpuc_syntax::source::Span;

/// Attaches an origin to each such part. Runs after the audit, which treats every node with a span as written by the
/// user.
pub fn attach_origins(cluster: &Checked<'_>, plan: &mut Plan) {
    let gitops_objects = match &mut plan.delivery {
        Delivery::Script => &mut [],
        Delivery::Gitops { objects, .. } => objects.as_mut_slice(),
    };
    let objects = plan.objects.iter_mut().chain(gitops_objects);
    let objects = objects.map(|object| &mut object.node);
    let values = plan.releases.iter_mut().map(|release| &mut release.values);
    for node in objects.chain(values) {
        let pools_of = pools_of_origin(cluster, node.origin.inputs());
        attach_below(node, "", &pools_of);
    }
}

/// The pools that a part belongs to; all pools if its origin names none.
fn pools_of_origin<'c>(cluster: &'c Checked<'_>, inputs: &[Span]) -> Vec<&'c Pool> {
    let pools = cluster.pools.iter();
    let named: Vec<_> = pools
        .filter(|pool| inputs.contains(&pool.name.span))
        .collect();
    if named.is_empty() {
        cluster.pools.iter().collect()
    } else {
        named
    }
}

fn attach_below(node: &mut Node, key: &str, pools: &[&Pool]) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for item in items {
                match key {
                    "tolerations" => set_origin(item, toleration_origin(item, pools)),
                    "matchExpressions" => set_origin(item, expression_origin(item, pools)),
                    _ => {}
                }
                attach_below(item, "", pools);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                match key {
                    "nodeSelector" | "nodeLabels" => {
                        let value = entry.value.text().unwrap_or_default();
                        let origin = label_origin(&entry.key, &[value], pools);
                        set_origin(&mut entry.value, origin);
                    }
                    "limits" | "requests" => {
                        let origin = resource_origin(&entry.key, pools);
                        set_origin(&mut entry.value, origin);
                    }
                    _ => {}
                }
                attach_below(&mut entry.value, &entry.key, pools);
            }
        }
    }
}

/// Sets the origin of a part, unless it has a more specific one.
fn set_origin(node: &mut Node, origin: Option<Origin>) {
    if let Some(origin) = origin.filter(|_| matches!(node.origin, Origin::Inherited)) {
        node.origin = origin;
    }
}

/// The origin of a toleration: the taints that it matches.
fn toleration_origin(item: &Node, pools: &[&Pool]) -> Option<Origin> {
    let text = |key| item.get(key).and_then(Node::text).unwrap_or_default();
    let all = pools.iter().flat_map(|pool| &pool.tolerations);
    let matching = all.filter(|one| one.key == text("key") && one.value == text("value"));
    merge_origins(matching.map(|one| &one.origin))
}

/// The origin of a selector expression: the labels that it matches.
fn expression_origin(item: &Node, pools: &[&Pool]) -> Option<Origin> {
    let key = item.get("key").and_then(Node::text)?;
    let values = item.get("values").map(Node::items).unwrap_or_default();
    let values: Vec<_> = values.iter().filter_map(Node::text).collect();
    label_origin(key, &values, pools)
}

/// The origin of the pools' labels with this key and one of these values.
fn label_origin(key: &str, values: &[&str], pools: &[&Pool]) -> Option<Origin> {
    let all = pools.iter().flat_map(|pool| &pool.selector);
    let matching = all.filter(|label| label.key == key && values.contains(&label.value.as_str()));
    merge_origins(matching.map(|label| &label.origin))
}

/// The origin of a resource: the configuration because of which pools advertise it.
fn resource_origin(resource: &str, pools: &[&Pool]) -> Option<Origin> {
    let all = pools
        .iter()
        .flat_map(|pool| pool.advertised.expect_resolved());
    let matching = all.filter(|advertised_resource| advertised_resource.name == resource);
    merge_origins(matching.map(|resource| &resource.origin))
}

/// Merges several origins: the first reason, with the spans of all of them.
fn merge_origins<'o>(origins: impl Iterator<Item = &'o Origin>) -> Option<Origin> {
    let mut because: Option<DerivationReason> = None;
    let mut inputs: Vec<Span> = Vec::new();
    for origin in origins {
        if let Origin::Generated(derivation) = origin {
            because.get_or_insert_with(|| derivation.reason.clone());
        }
        let new = origin.inputs().iter().filter(|span| !inputs.contains(span));
        let new: Vec<_> = new.copied().collect();
        inputs.extend(new);
    }
    (!inputs.is_empty())
        .then(|| Origin::derived(inputs, because.unwrap_or(DerivationReason::Written)))
}
