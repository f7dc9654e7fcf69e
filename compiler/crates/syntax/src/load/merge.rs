//! Merges a document over its base.

use std::collections::{BTreeMap, BTreeSet};

use super::{UNIONS, codes};
use crate::diag::Report;
use crate::node::{Entry, Node, Scalar, Value};
use crate::source::Span;
use crate::yaml::core_schema::CoreValue;

/// The lists whose items are merged by `name`.
pub(super) const NAMED_LISTS: &[&str] = &["nodePools", "teams", "workloads"];

/// Mappings with two alternative sets of keys: if the overlay uses one, the base's keys of the other are dropped.
const ALTERNATIVE_KEYS: &[(&str, [&[&str]; 2])] =
    &[("nodePools.nodes", [&["count"], &["min", "max"]])];

/// Merges the document over its base: mappings deeply, named lists by `name`, and anything else is replaced. `null`
/// deletes a key. `base` itself is not inherited.
pub fn merge(base: &Node, overlay: Node, report: &mut Report) -> Node {
    let mut base = base.clone();
    if let Value::Mapping(entries) = &mut base.value {
        entries.retain(|entry| entry.key != "base");
    }
    merge_nodes(base, overlay, &mut String::new(), report)
}

/// Deletes and reports `remove` in the named lists of a document without a base.
pub(super) fn drop_removed(root: &mut Node, report: &mut Report) {
    if let Value::Mapping(entries) = &mut root.value {
        for entry in entries {
            if NAMED_LISTS.contains(&entry.key.as_str())
                && let Value::Sequence(items) = &mut entry.value.value
            {
                let overlay = std::mem::take(items);
                *items = merge_by_name(Vec::new(), overlay, &mut entry.key.clone(), report);
            }
        }
    }
}

fn merge_nodes(base: Node, overlay: Node, path: &mut String, report: &mut Report) -> Node {
    let Node { value, origin } = overlay;
    let value = match (base.value, value) {
        (Value::Mapping(base), Value::Mapping(overlay)) => {
            Value::Mapping(merge_mappings(base, overlay, path, report))
        }
        (base, Value::Sequence(overlay)) if NAMED_LISTS.contains(&path.as_str()) => {
            let base = match base {
                Value::Sequence(items) => items,
                _ => Vec::new(),
            };
            Value::Sequence(merge_by_name(base, overlay, path, report))
        }
        (_, overlay) => overlay,
    };
    Node { value, origin }
}

fn merge_mappings(
    base: Vec<Entry>,
    overlay: Vec<Entry>,
    path: &mut String,
    report: &mut Report,
) -> Vec<Entry> {
    let is_union = UNIONS.contains(&path.as_str());
    let mut merged: Vec<Option<Entry>> = base.into_iter().map(Some).collect();
    let keys = merged.iter().flatten().map(|entry| entry.key.clone());
    let index: BTreeMap<String, usize> = keys.zip(0..).collect();
    let chosen: BTreeSet<String> = overlay.iter().map(|entry| entry.key.clone()).collect();
    for mut entry in overlay {
        let position = index.get(&entry.key).copied();
        if is_null(&entry.value) {
            if let Some(position) = position {
                merged[position] = None;
            }
            continue;
        }
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&entry.key);
        match position.and_then(|position| merged[position].take()) {
            Some(below) => entry.value = merge_nodes(below.value, entry.value, path, report),
            None if NAMED_LISTS.contains(&path.as_str()) => {
                let nothing = Node::written(Value::Sequence(Vec::new()), Span::NONE);
                entry.value = merge_nodes(nothing, entry.value, path, report);
            }
            None => {}
        }
        path.truncate(length);
        match position {
            Some(position) => merged[position] = Some(entry),
            None => merged.push(Some(entry)),
        }
    }
    let dropped = unused_alternative(path, &chosen);
    let is_kept = |entry: &Entry| {
        chosen.contains(&entry.key) || !(is_union || dropped.contains(&entry.key.as_str()))
    };
    merged.into_iter().flatten().filter(is_kept).collect()
}

/// The keys of the alternative that the overlay does not use.
fn unused_alternative(path: &str, chosen: &BTreeSet<String>) -> Vec<&'static str> {
    let alternatives = ALTERNATIVE_KEYS.iter().find(|(at, _)| *at == path);
    let Some((_, [one, other])) = alternatives else {
        return Vec::new();
    };
    let is_used = |path: &[&str]| path.iter().any(|key| chosen.contains(*key));
    match (is_used(one), is_used(other)) {
        (true, false) => other.to_vec(),
        (false, true) => one.to_vec(),
        _ => Vec::new(),
    }
}

/// Merges items by name, in the base's order, followed by new items.
fn merge_by_name(
    base: Vec<Node>,
    overlay: Vec<Node>,
    path: &mut String,
    report: &mut Report,
) -> Vec<Node> {
    let mut merged: Vec<Option<Node>> = base.into_iter().map(Some).collect();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for (position, item) in merged.iter().enumerate() {
        if let Some(name) = item.as_ref().and_then(item_name) {
            index.entry(name).or_insert(position);
        }
    }
    for mut item in overlay {
        // Each item of the base merges with one item; a second item of the same name is a duplicate, reported by a
        // rule.
        let position = item_name(&item).and_then(|name| index.remove(&name));
        let below = position.and_then(|position| Some((position, merged[position].take()?)));
        match (take_remove(&mut item), below) {
            (None, Some((position, below))) => {
                merged[position] = Some(merge_nodes(below, item, path, report));
            }
            (None, None) => merged.push(Some(item)),
            (Some(_), Some(_)) => {}
            (Some(remove), None) => report_missing_item(&item, remove, path, report),
        }
    }
    merged.into_iter().flatten().collect()
}

fn report_missing_item(item: &Node, remove: Span, list: &str, report: &mut Report) {
    let named = item.get("name");
    let message = match named.and_then(Node::text) {
        Some(name) => format!("cannot remove `{name}`: the base has no such item in `{list}`"),
        None => format!("cannot remove an item of `{list}` without a `name`"),
    };
    report
        .diagnostic(&codes::REMOVE_TARGET_UNKNOWN, remove, message)
        .label(named.map_or(Span::NONE, Node::span), "not in the base")
        .help("correct the name, or delete the item")
        .emit();
}

/// Deletes the key `remove` from an item; returns its span if it is true.
fn take_remove(item: &mut Node) -> Option<Span> {
    let Value::Mapping(entries) = &mut item.value else {
        return None;
    };
    let position = entries.iter().position(|entry| entry.key == "remove")?;
    let Value::Scalar(scalar) = &entries[position].value.value else {
        return None;
    };
    let CoreValue::Bool(remove) = scalar.core_value() else {
        return None;
    };
    let entry = entries.remove(position);
    remove.then_some(entry.key_span)
}

fn item_name(item: &Node) -> Option<String> {
    item.get("name")?.text().map(str::to_owned)
}

fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if matches!(scalar.core_value(), CoreValue::Null))
        && !matches!(node.value, Value::Scalar(Scalar::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::yaml;

    fn tree(text: &str) -> Node {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let mut documents = yaml::parse(&sources, id, &mut report);
        assert!(!report.has_errors());
        documents.remove(0).root
    }

    fn check(base: &str, overlay: &str, expected: &str) -> Report {
        let mut report = Report::default();
        let merged = merge(&tree(base), tree(overlay), &mut report);
        assert_eq!(serde_json::to_string(&merged).expect("a tree"), expected);
        report
    }

    #[test]
    fn alternative_keys_replace_each_other() {
        let base =
            tree("nodePools: [{name: a, nodes: {min: 1, max: 2}}, {name: b, nodes: {count: 3}}]");
        let overlay =
            tree("nodePools: [{name: a, nodes: {count: 5}}, {name: b, nodes: {min: 0, max: 9}}]");
        let merged = merge(&base, overlay, &mut Report::default());
        let merged = serde_json::to_string(&merged).unwrap();
        let wanted = r#"{"nodePools":[{"name":"a","nodes":{"count":5}},{"name":"b","nodes":{"min":0,"max":9}}]}"#;
        assert_eq!(merged, wanted);
    }

    #[test]
    fn duplicate_items_are_kept() {
        let base = tree("nodePools: [{name: a, machine: x}]");
        let overlay = tree("nodePools: [{name: a, machine: y}, {name: a, machine: z}]");
        let merged = merge(&base, overlay, &mut Report::default());
        assert_eq!(merged.get("nodePools").unwrap().items().len(), 2);
    }

    #[test]
    fn mappings_merge_lists_are_replaced_and_null_removes() {
        check(
            "{a: {x: 1, y: 2}, list: [1, 2], gone: 1, base: other}",
            "{a: {y: 3, z: 4}, list: [3], gone: null, new: 5}",
            r#"{"a":{"x":1,"y":3,"z":4},"list":[3],"new":5}"#,
        );
    }

    #[test]
    fn named_lists_merge_by_name() {
        let report = check(
            "nodePools: [{name: a, n: 1}, {name: b, zones: [x]}, {name: c}]",
            "nodePools: [{name: d}, {name: b, zones: [y]}, {name: a, remove: true}]",
            r#"{"nodePools":[{"name":"b","zones":["y"]},{"name":"c"},{"name":"d"}]}"#,
        );
        assert!(!report.has_errors());
        let report = check(
            "teams: [{name: a}]",
            "teams: [{name: b, remove: true}]",
            r#"{"teams":[{"name":"a"}]}"#,
        );
        assert_eq!(report.diagnostics()[0].code.id, "GPUC0203");
        let report = check(
            "a: 1",
            "teams: [{name: b, remove: true}]",
            r#"{"a":1,"teams":[]}"#,
        );
        assert_eq!(report.count(crate::diag::Severity::Error), 1);
    }

    #[test]
    fn option_of_the_document_replaces_the_base() {
        check(
            "nodePools: [{name: a, capacity: {spot: {}}, sharing: {mps: {replicas: 2, rename: true}}}]",
            "nodePools: [{name: a, capacity: {reservation: {id: r}}, sharing: {mps: {replicas: 3}}}]",
            r#"{"nodePools":[{"name":"a","capacity":{"reservation":{"id":"r"}},"sharing":{"mps":{"replicas":3,"rename":true}}}]}"#,
        );
        check(
            "cloud: {aws: {region: a, cluster: {create: {}}}}",
            "cloud: {aws: {cluster: {existing: {name: n}}}}",
            r#"{"cloud":{"aws":{"region":"a","cluster":{"existing":{"name":"n"}}}}}"#,
        );
        check(
            "notebooks: {jupyterHub: {a: 1}}",
            "notebooks: none",
            r#"{"notebooks":"none"}"#,
        );
    }
}
