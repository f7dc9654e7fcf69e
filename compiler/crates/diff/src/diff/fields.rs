//! The leaf fields of a tree, each with a stable path.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use gpuc_syntax::diag::Report;
use gpuc_syntax::node::{Entry, Node, Origin, Value};
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml;

/// A value and the locations in the input that it is derived from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldValue {
    /// The value.
    pub value: Json,
    /// The locations in the input, taken from the nearest node that has any.
    pub inputs: Vec<Span>,
}

/// The keys that identify items of a list: the first key that every item has is used.
const IDENTIFYING_KEYS: &[&str] = &[
    "name",
    "alert",
    "record",
    "key",
    "mountPath",
    "containerPort",
    "port",
    "resource",
    COVERED_RESOURCES,
];

/// The resources covered by a quota group: no two groups of a queue cover the same.
const COVERED_RESOURCES: &str = "coveredResources";

/// Every leaf below a node. A list of scalars is one leaf, and so is an empty collection.
pub(super) fn leaf_fields(node: &Node) -> BTreeMap<String, FieldValue> {
    let mut found = BTreeMap::new();
    collect(node, String::new(), &[], &mut found);
    found
}

fn collect(node: &Node, path: String, above: &[Span], found: &mut BTreeMap<String, FieldValue>) {
    let inputs = match &node.origin {
        Origin::Inherited => above,
        origin => origin.inputs(),
    };
    match &node.value {
        Value::Mapping(entries) if !entries.is_empty() => {
            for entry in entries {
                collect(&entry.value, child_path(&path, &entry.key), inputs, found);
            }
        }
        Value::Sequence(items) if items.iter().any(is_mapping) => {
            for (name, item) in items_with_names(items) {
                collect(item, format!("{path}[{name}]"), inputs, found);
            }
        }
        _ => {
            if let Some(document) = node.text().and_then(parse_embedded) {
                return collect(
                    &document,
                    format!("{path}{EMBEDDED_SEPARATOR}"),
                    inputs,
                    found,
                );
            }
            let leaf = FieldValue {
                value: serde_json::to_value(node).expect("a tree has only what JSON has"),
                inputs: inputs.to_vec(),
            };
            found.insert(path, leaf);
        }
    }
}

/// Parses a text with an embedded document, such as a configuration in a ConfigMap or a dashboard.
fn parse_embedded(text: &str) -> Option<Node> {
    if !text.contains('\n') {
        return None;
    }
    if text.starts_with('{') {
        return Some(Node::from_json(serde_json::from_str(text).ok()?));
    }
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let id = sources.add("", text);
    let mut documents = yaml::parse(&sources, id, &mut report);
    let is_single_document = documents.len() == 1 && !report.has_errors();
    let mut root = documents.pop().filter(|_| is_single_document)?.root;
    let is_collection = matches!(root.value, Value::Mapping(_) | Value::Sequence(_));
    root.clear_origins();
    is_collection.then_some(root)
}

fn is_mapping(node: &Node) -> bool {
    matches!(node.value, Value::Mapping(_))
}

/// Separates the path of a text from the path in its embedded document.
const EMBEDDED_SEPARATOR: &str = " » ";

/// The path of a key below another. A key with dots or brackets is quoted.
pub(super) fn child_path(path: &str, key: &str) -> String {
    let key = if key.is_empty() || key.contains(['.', '[', ']', '"', '#']) {
        Json::from(key).to_string()
    } else {
        key.to_owned()
    };
    if path.is_empty() || path.ends_with(EMBEDDED_SEPARATOR) {
        format!("{path}{key}")
    } else {
        format!("{path}.{key}")
    }
}

/// Items by their identifying key, or else by index. The second item of a name is `name#2`.
pub(super) fn items_with_names(items: &[Node]) -> Vec<(String, &Node)> {
    let by = IDENTIFYING_KEYS.iter().find_map(|key| {
        let names = items.iter().map(|item| item_name(item, key));
        names.collect::<Option<Vec<String>>>()
    });
    let names = by.unwrap_or_else(|| (0..items.len()).map(|index| index.to_string()).collect());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let distinct = names.into_iter().map(|name| {
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        match times {
            1 => name,
            times => format!("{name}#{times}"),
        }
    });
    distinct.zip(items).collect()
}

fn item_name(item: &Node, key: &str) -> Option<String> {
    let Entry { value, .. } = item.entry(key)?;
    let value = serde_json::to_value(value).ok()?;
    match value {
        Json::String(text) => Some(text),
        Json::Number(number) => Some(number.to_string()),
        Json::Array(covered) if key == COVERED_RESOURCES => {
            Some(covered.first()?.as_str()?.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(value: Json) -> Vec<String> {
        leaf_fields(&Node::from_json(value)).into_keys().collect()
    }

    #[test]
    fn items_are_identified_by_name() {
        let containers = json!({"c": [{"name": "a", "x": 1}, {"name": "b", "args": ["1", "2"]}]});
        assert_eq!(
            paths(containers),
            ["c[a].name", "c[a].x", "c[b].args", "c[b].name"]
        );
        let twice = json!([{"name": "a"}, {"name": "a"}]);
        assert_eq!(paths(twice), ["[a#2].name", "[a].name"]);
        assert_eq!(paths(json!({"a.b/c": {}, "d": null})), ["\"a.b/c\""]);
    }
}
