//! The labels that select the nodes of an existing pool.

use std::collections::BTreeMap;

use gpuc_live::doctor::{Advertiser, advertiser_of};
use gpuc_live::objects::Node;
use serde_json::Value;

use crate::context::{Context, label_source};
use crate::groups::{Group, GroupKey, INSTANCE_TYPE, runtime_pool};
use crate::tree::Item;

/// The labels that select the nodes of a pool.
pub(crate) struct Selector {
    /// The labels.
    pub(crate) labels: Vec<(String, String)>,
    /// The value of the key `selector`.
    pub(crate) item: Item,
}

/// Labels that identify alike nodes, if no other node has the same value.
const IDENTIFYING: &[&str] = &[
    "nvidia.com/gpu.product",
    INSTANCE_TYPE,
    "cloud.google.com/gke-accelerator",
    "kubernetes.io/hostname",
];

/// Labels that all nodes of the group have, and no other node.
pub(crate) fn selector(cx: &Context<'_>, group: &Group<'_>, name: &str) -> Selector {
    if let GroupKey::Label {
        key,
        value,
        machine,
    } = &group.key
    {
        if *key != "gpuc.dev/pool"
            && let Some(labels) = of_runtime(cx, group).or_else(|| of_declaration(cx, group))
        {
            return labels;
        }
        let mut labels = vec![((*key).to_owned(), value.clone())];
        labels.extend(
            machine
                .iter()
                .map(|machine| (INSTANCE_TYPE.to_owned(), machine.clone())),
        );
        let at = group
            .nodes
            .first()
            .map(|node| label_source(node, key, value));
        let items = labels.iter().map(|(key, value)| {
            (
                key,
                Item::text(value).sure(at.clone().unwrap_or_else(|| format!("{key} = {value}"))),
            )
        });
        return Selector {
            item: Item::map(items),
            labels,
        };
    }
    if let Some(labels) = of_runtime(cx, group).or_else(|| of_declaration(cx, group)) {
        return labels;
    }
    for key in IDENTIFYING {
        if let Some((value, node)) = identifying_value(cx, group, key) {
            let reason = "no other node has this label, but a new node may get it";
            return Selector {
                labels: vec![((*key).to_owned(), value.to_owned())],
                item: Item::single(
                    key,
                    Item::text(value).guess(label_source(node, key, value), reason),
                ),
            };
        }
    }
    let nodes: Vec<&str> = group
        .nodes
        .iter()
        .map(|node| node.metadata.name.as_str())
        .collect();
    let shown = nodes.iter().take(8).copied().collect::<Vec<_>>().join(" ");
    let note = format!(
        "No label distinguishes these nodes; add it: kubectl label nodes {shown} gpuc.dev/pool={name}"
    );
    let reason = "a label that the nodes do not have yet";
    Selector {
        labels: vec![("gpuc.dev/pool".to_owned(), name.to_owned())],
        item: Item::single(
            "gpuc.dev/pool",
            Item::text(name).guess(format!("Nodes {shown}"), reason),
        )
        .note(note),
    }
}

/// The value of a label that all nodes of a group have, and no other node.
fn identifying_value<'g>(
    cx: &Context<'_>,
    group: &'g Group<'_>,
    key: &str,
) -> Option<(&'g str, &'g Node)> {
    let values = group.label_values(key);
    let [(value, node)] = values.as_slice() else {
        return None;
    };
    let has_value = |node: &&Node| node.metadata.label(key) == Some(value);
    let all = cx.state.nodes.items.iter().filter(has_value).count();
    let own = group
        .nodes
        .iter()
        .copied()
        .filter(|node| has_value(node))
        .count();
    (own == group.nodes.len() && all == own).then_some((*value, *node))
}

/// The selector in an object that gpuc built for the pool.
fn of_declaration(cx: &Context<'_>, group: &Group<'_>) -> Option<Selector> {
    let pool = group.nodes.iter().find_map(|node| cx.declared_pool(node))?;
    let own = pool
        .labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let items = pool
        .labels
        .iter()
        .map(|(key, value)| (*key, Item::text(*value).sure(pool.source.clone())));
    Some(Selector {
        labels: own.collect(),
        item: Item::map(items),
    })
}

/// The selector of the gpuc-runtime that runs on the nodes of the group: a file of gpuc declared it.
fn of_runtime(cx: &Context<'_>, group: &Group<'_>) -> Option<Selector> {
    let pool = group.nodes.iter().find_map(|node| runtime_pool(cx, node))?;
    let mut sets = cx.state.daemon_sets.items.iter();
    let set = sets.find(|set| {
        let template = &set.spec.template;
        let is_runtime = advertiser_of(&set.metadata, &template.spec) == Some(Advertiser::Runtime);
        is_runtime && template.metadata.label("gpuc.dev/pool") == Some(pool)
    })?;
    let spec = &set.spec.template.spec;
    let mut labels: BTreeMap<String, String> = spec.node_selector.clone();
    let pointer = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = spec
        .affinity
        .as_ref()
        .and_then(|it| it.pointer(pointer))
        .and_then(Value::as_array);
    if let Some([term]) = terms.map(Vec::as_slice) {
        for expression in term["matchExpressions"].as_array().into_iter().flatten() {
            let key = expression["key"].as_str()?;
            let values = expression["values"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            if let ("In", [Value::String(value)]) = (expression["operator"].as_str()?, values) {
                labels.insert(key.to_owned(), value.clone());
            }
        }
    }
    labels.retain(|key, _| !key.starts_with("kubernetes.io/"));
    if labels.is_empty() {
        return None;
    }
    let at = format!(
        "DaemonSet {}/{}#spec.template.spec.affinity",
        set.metadata.namespace, set.metadata.name
    );
    let items = labels
        .iter()
        .map(|(key, value)| (key, Item::text(value).sure(at.clone())));
    Some(Selector {
        item: Item::map(items),
        labels: labels.into_iter().collect(),
    })
}
