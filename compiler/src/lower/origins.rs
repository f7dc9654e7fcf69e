//! Parts of objects and of values that follow from less than the whole they stand in: tolerations from taints,
//! selectors from labels, names and counts of resources from what a pool offers.
//!
//! Objects are made of Kubernetes' own types, which have no place for an origin. These parts look the same wherever
//! they stand, so one walk over what was made finds them all.

use crate::check::Checked;
use crate::model::Pool;
use crate::node::{Because, Node, Origin, Value};
use crate::plan::{Delivery, Plan};
use crate::source::Span;

/// Says of each such part what it follows from. The audit comes before: to it, what has a place is what users wrote.
pub fn refine(cluster: &Checked<'_>, plan: &mut Plan) {
    let told = match &mut plan.delivery {
        Delivery::Script => &mut [],
        Delivery::Gitops { objects, .. } => objects.as_mut_slice(),
    };
    let objects = plan.objects.iter_mut().chain(told);
    let objects = objects.map(|object| &mut object.node);
    let values = plan.releases.iter_mut().map(|release| &mut release.values);
    for node in objects.chain(values) {
        let served = served(cluster, node.origin.inputs());
        walk(node, "", &served);
    }
}

/// The pools that a part is for; where it does not say, all.
fn served<'c>(cluster: &'c Checked<'_>, inputs: &[Span]) -> Vec<&'c Pool> {
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

fn walk(node: &mut Node, key: &str, pools: &[&Pool]) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for item in items {
                match key {
                    "tolerations" => explain(item, tolerated(item, pools)),
                    "matchExpressions" => explain(item, selected(item, pools)),
                    _ => {}
                }
                walk(item, "", pools);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                match key {
                    "nodeSelector" | "nodeLabels" => {
                        let value = entry.value.text().unwrap_or_default();
                        let origin = labelled(&entry.key, &[value], pools);
                        explain(&mut entry.value, origin);
                    }
                    "limits" | "requests" => {
                        let origin = offered(&entry.key, pools);
                        explain(&mut entry.value, origin);
                    }
                    _ => {}
                }
                walk(&mut entry.value, &entry.key, pools);
            }
        }
    }
}

/// Gives a part its origin, unless it has one that is nearer.
fn explain(node: &mut Node, origin: Option<Origin>) {
    if let Some(origin) = origin.filter(|_| matches!(node.origin, Origin::Inherited)) {
        node.origin = origin;
    }
}

/// The taints that a toleration is for.
fn tolerated(item: &Node, pools: &[&Pool]) -> Option<Origin> {
    let text = |key| item.get(key).and_then(Node::text).unwrap_or_default();
    let all = pools.iter().flat_map(|pool| &pool.tolerations);
    let same = all.filter(|one| one.key == text("key") && one.value == text("value"));
    union(same.map(|one| &one.origin))
}

/// The labels that an expression asks for.
fn selected(item: &Node, pools: &[&Pool]) -> Option<Origin> {
    let key = item.get("key").and_then(Node::text)?;
    let values = item.get("values").map(Node::items).unwrap_or_default();
    let values: Vec<_> = values.iter().filter_map(Node::text).collect();
    labelled(key, &values, pools)
}

/// The labels of pools with that key and one of these values.
fn labelled(key: &str, values: &[&str], pools: &[&Pool]) -> Option<Origin> {
    let all = pools.iter().flat_map(|pool| &pool.selector);
    let same = all.filter(|label| label.key == key && values.contains(&label.value.as_str()));
    union(same.map(|label| &label.origin))
}

/// What makes pools offer a resource of that name.
fn offered(resource: &str, pools: &[&Pool]) -> Option<Origin> {
    let all = pools.iter().flat_map(|pool| pool.offers.sure());
    let same = all.filter(|offer| offer.resource == resource);
    union(same.map(|offer| &offer.origin))
}

/// The reason that several origins have, with the places of all of them.
fn union<'o>(origins: impl Iterator<Item = &'o Origin>) -> Option<Origin> {
    let mut because: Option<Because> = None;
    let mut inputs: Vec<Span> = Vec::new();
    for origin in origins {
        if let Origin::Made(made) = origin {
            because.get_or_insert_with(|| made.because.clone());
        }
        let new = origin.inputs().iter().filter(|span| !inputs.contains(span));
        let new: Vec<_> = new.copied().collect();
        inputs.extend(new);
    }
    (!inputs.is_empty()).then(|| Origin::made(inputs, because.unwrap_or(Because::Written)))
}
