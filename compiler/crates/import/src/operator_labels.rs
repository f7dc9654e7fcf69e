//! The node labels that configure the GPU Operator, in the selectors of existing pools.
//!
//! The file is resolved as `gpuc build` does, so that the labels are those that gpuc requires.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_live::objects::Node;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_model::{Registry, operator};
use gpuc_syntax::decode::decode_cluster;
use gpuc_syntax::diag::Report as Diagnostics;
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;

use crate::context::label_source;
use crate::emit::to_yaml;
use crate::tree::{Item, Value};

/// Adds the labels to the selectors of the pools in the file.
pub(crate) fn add(
    root: &mut Item,
    registry: &'static Registry,
    nodes: &BTreeMap<String, Vec<&Node>>,
) {
    for (pool, labels) in required(root, registry) {
        let nodes = nodes.get(&pool).map_or(&[][..], Vec::as_slice);
        let Some(selector) = selector(root, &pool) else {
            continue;
        };
        for (key, value) in labels {
            let Value::Map(entries) = &mut selector.value else {
                continue;
            };
            if entries.iter().any(|(own, _)| *own == key) {
                continue;
            }
            let has_label = |node: &&&Node| node.metadata.label(&key) == Some(value.as_str());
            let labeled = nodes.iter().filter(has_label).count();
            let item = match nodes.first() {
                Some(node) if labeled == nodes.len() => {
                    Item::text(&value).sure(label_source(node, &key, &value))
                }
                _ => {
                    let reason = "gpuc configures the GPU Operator by this label; the nodes do not have it yet";
                    let names = nodes.iter().take(8).map(|node| node.metadata.name.as_str());
                    let names = names.collect::<Vec<_>>().join(" ");
                    selector.notes.push(format!(
                        "After the installation, with the nodes drained: kubectl label --overwrite nodes {names} {key}={value}"
                    ));
                    Item::text(&value).guess(format!("Nodes {names}"), reason)
                }
            };
            entries.push((key, item));
        }
    }
}

/// The labels that each existing pool needs; empty without the GPU Operator.
fn required(root: &Item, registry: &'static Registry) -> Vec<(String, Vec<(String, String)>)> {
    let mut sources = Sources::default();
    let id = sources.add("gpu-cluster.yaml", &to_yaml(&[], root));
    let mut report = Diagnostics::default();
    let documents = yaml::parse(&sources, id, &mut report);
    let config = documents
        .first()
        .and_then(|it| decode_cluster(&it.root, &mut report));
    let Some(config) = config else {
        return Vec::new();
    };
    let cluster = resolve(Arc::new(config), registry, &Choices::default(), &mut report);
    if cluster.operator_pools().next().is_none() {
        return Vec::new();
    }
    let existing = cluster.pools.iter().filter(|pool| pool.is_existing());
    let labels = existing.map(|pool| {
        let labels = operator::operand_labels(cluster.cloud, pool);
        let labels = labels.into_iter().map(|label| (label.key, label.value));
        (pool.name.value.clone(), labels.collect())
    });
    labels.collect()
}

/// The selector of the pool with this name.
fn selector<'r>(root: &'r mut Item, name: &str) -> Option<&'r mut Item> {
    let Value::List(pools) = &mut child(root, "nodePools")?.value else {
        return None;
    };
    let is_named = |pool: &&mut Item| {
        let Value::Map(entries) = &pool.value else {
            return false;
        };
        let mut entries = entries.iter();
        entries.any(|(key, item)| key == "name" && item.value == Value::Text(name.to_owned()))
    };
    let pool = pools.iter_mut().find(is_named)?;
    child(child(pool, "existing")?, "selector")
}

fn child<'i>(item: &'i mut Item, key: &str) -> Option<&'i mut Item> {
    let Value::Map(entries) = &mut item.value else {
        return None;
    };
    entries
        .iter_mut()
        .find(|(own, _)| own == key)
        .map(|(_, item)| item)
}
