//! Compares the objects of a built tree with those of a cluster.

use std::collections::BTreeSet;
use std::fmt;

use gpuc_live::objects::{Container, DaemonSet, Metadata, Quantity, ResourceList};
use gpuc_live::state::{ClusterState, Kind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::json::text;

/// The comparison of a tree with a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The number of objects that were compared.
    pub compared: usize,
    /// The differences, by object and field.
    pub differences: Vec<Difference>,
    /// The kinds of the tree that were not compared, each with the reason. Of DaemonSets, gpuc reads some fields only.
    pub not_compared: Vec<String>,
}

/// A field that the tree sets, and that differs in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The object: `ResourceQuota ml/team`.
    pub object: String,
    /// The field, such as `spec.hard[requests.nvidia.com/gpu]`; empty if the cluster lacks the object.
    pub field: String,
    /// The value in the tree.
    pub built: String,
    /// The value in the cluster; `None` if it is absent.
    pub found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            object,
            field,
            built,
            found,
        } = self;
        match (field.as_str(), found) {
            ("", _) => write!(f, "{object}: not in the cluster"),
            (_, Some(found)) => write!(
                f,
                "{object}#{field}: {built} in the tree, {found} in the cluster"
            ),
            (_, None) => write!(
                f,
                "{object}#{field}: {built} in the tree, absent in the cluster"
            ),
        }
    }
}

/// Compares the objects of a built tree with the state of a cluster: only fields that the tree sets, and quantities by
/// value. An object that a complete list lacks is a difference.
pub fn differences(state: &ClusterState, objects: &[Value]) -> Comparison {
    let mut comparison = Comparison::default();
    let mut not_compared = BTreeSet::new();
    for built in objects {
        let kind_name = text(built, "/kind").unwrap_or_default();
        let group = text(built, "/apiVersion").unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        let (namespace, name) = (
            text(built, "/metadata/namespace").unwrap_or_default(),
            text(built, "/metadata/name").unwrap_or_default(),
        );
        if name.is_empty() || kind_name == "Kustomization" {
            continue;
        }
        let Some(kind) = Kind::find(group, kind_name) else {
            not_compared.insert(format!("{kind_name}: gpuc does not read this kind"));
            continue;
        };
        let object = match namespace {
            "" => format!("{kind_name} {name}"),
            namespace => format!("{kind_name} {namespace}/{name}"),
        };
        let found = match kind {
            Kind::Node | Kind::Pod | Kind::Event => {
                not_compared.insert(format!("{kind_name}: gpuc reads some fields only"));
                continue;
            }
            Kind::DaemonSet => {
                let mut sets = state.daemon_sets.items.iter();
                let set =
                    sets.find(|it| it.metadata.namespace == namespace && it.metadata.name == name);
                set.map(daemon_set)
            }
            kind => state
                .object(kind, namespace, name)
                .map(|it| it.body.clone()),
        };
        let Some(found) = found else {
            let completeness = state.completeness(kind);
            if completeness.is_complete() {
                comparison.differences.push(Difference {
                    object,
                    field: String::new(),
                    built: "present".to_owned(),
                    found: None,
                });
            } else {
                not_compared.insert(format!("{kind_name}: {completeness}"));
            }
            continue;
        };
        comparison.compared += 1;
        let built = match kind {
            Kind::DaemonSet => reduced_daemon_set(built),
            _ => built.clone(),
        };
        let mut walk = Walk {
            object: &object,
            differences: &mut comparison.differences,
        };
        walk.compare("", &built, &found);
    }
    comparison.differences.sort();
    comparison.not_compared = not_compared.into_iter().collect();
    comparison
}

struct Walk<'a> {
    object: &'a str,
    differences: &'a mut Vec<Difference>,
}

/// The keys whose values are quantities.
const QUANTITIES: &[&str] = &[
    "borrowingLimit",
    "capacity",
    "default",
    "defaultRequest",
    "hard",
    "lendingLimit",
    "limits",
    "max",
    "min",
    "nominalQuota",
    "requests",
    "sizeLimit",
];

impl Walk<'_> {
    fn compare(&mut self, field: &str, built: &Value, found: &Value) {
        match (built, found) {
            (Value::Null, _) => {}
            (Value::Object(entries), Value::Object(other)) => {
                for (key, value) in entries {
                    if matches!((field, key.as_str()), ("", "status")) {
                        continue;
                    }
                    let path = child(field, key);
                    self.compare(&path, value, other.get(key).unwrap_or(&Value::Null));
                }
            }
            (Value::Object(entries), Value::Null) if entries.is_empty() => {}
            (Value::Array(items), Value::Null) if items.is_empty() => {}
            (Value::Array(items), Value::Array(others)) => self.compare_lists(field, items, others),
            (built, found) if is_equal(field, built, found) => {}
            (built, found) => self.differences.push(Difference {
                object: self.object.to_owned(),
                field: field.to_owned(),
                built: built.to_string(),
                found: (!found.is_null()).then(|| found.to_string()),
            }),
        }
    }

    /// Items with names are compared by name, others by position.
    fn compare_lists(&mut self, field: &str, items: &[Value], others: &[Value]) {
        let is_named = !items.is_empty() && items.iter().all(|it| text(it, "/name").is_some());
        if is_named {
            for item in items {
                let name = text(item, "/name").unwrap_or_default();
                let other = others
                    .iter()
                    .find(|it| text(it, "/name") == Some(name) && is_same_kind(it, item));
                self.compare(
                    &format!("{field}[{name}]"),
                    item,
                    other.unwrap_or(&Value::Null),
                );
            }
            return;
        }
        if items.len() != others.len() {
            self.differences.push(Difference {
                object: self.object.to_owned(),
                field: field.to_owned(),
                built: Value::from(items.to_vec()).to_string(),
                found: Some(Value::from(others.to_vec()).to_string()),
            });
            return;
        }
        for (index, (item, other)) in items.iter().zip(others).enumerate() {
            self.compare(&format!("{field}[{index}]"), item, other);
        }
    }
}

/// Whether two subjects of a RoleBinding with the same name are of one kind; true for other items.
fn is_same_kind(a: &Value, b: &Value) -> bool {
    a.get("kind") == b.get("kind")
        && (a.get("namespace") == b.get("namespace") || b.get("namespace").is_none())
}

fn child(field: &str, key: &str) -> String {
    if key.contains(['.', '/']) {
        format!("{field}[{key}]")
    } else if field.is_empty() {
        key.to_owned()
    } else {
        format!("{field}.{key}")
    }
}

fn is_equal(field: &str, built: &Value, found: &Value) -> bool {
    if built == found {
        return true;
    }
    let mut parts = field.split(['.', '[']);
    let is_quantity = parts.any(|part| QUANTITIES.contains(&part.trim_end_matches(']')));
    let amount = |value: &Value| match value {
        Value::String(text) => gpuc_schema::quantity::thousandths(text),
        Value::Number(number) => number.as_u64()?.checked_mul(1000),
        _ => None,
    };
    if is_quantity && amount(built).is_some() && amount(built) == amount(found) {
        return true;
    }
    // The values of ConfigMaps can be JSON.
    match (built, found) {
        (Value::String(built), Value::String(found)) => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            built.trim_end() == found.trim_end()
                || (built.starts_with('{')
                    && parse(built).is_some_and(|it| Some(it) == parse(found)))
        }
        _ => false,
    }
}

/// The fields of a DaemonSet that the state keeps.
fn daemon_set(set: &DaemonSet) -> Value {
    let template = &set.spec.template;
    let spec = &template.spec;
    let containers = |list: &[Container]| -> Vec<Value> { list.iter().map(container).collect() };
    let tolerations = spec.tolerations.iter().map(|it| {
        let parts = [
            ("key", &it.key),
            ("operator", &it.operator),
            ("value", &it.value),
            ("effect", &it.effect),
        ];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        let parts: Map<String, Value> = parts
            .map(|(key, text)| (key.to_owned(), json!(text)))
            .collect();
        Value::Object(parts)
    });
    json!({
        "metadata": metadata(&set.metadata),
        "spec": {"template": {
            "metadata": {"labels": template.metadata.labels, "annotations": template.metadata.annotations},
            "spec": {
                "nodeSelector": spec.node_selector,
                "affinity": spec.affinity,
                "tolerations": tolerations.collect::<Vec<_>>(),
                "containers": containers(&spec.containers),
                "initContainers": containers(&spec.init_containers),
                "priorityClassName": spec.priority_class_name,
                "runtimeClassName": spec.runtime_class_name,
            },
        }},
    })
}

fn metadata(metadata: &Metadata) -> Value {
    json!({
        "name": metadata.name,
        "namespace": metadata.namespace,
        "labels": metadata.labels,
        "annotations": metadata.annotations,
    })
}

fn container(container: &Container) -> Value {
    let list = |list: &ResourceList| -> Map<String, Value> {
        let entries = list.iter();
        entries
            .map(|(name, amount): (&String, &Quantity)| (name.clone(), json!(amount.to_string())))
            .collect()
    };
    json!({
        "name": container.name,
        "image": container.image,
        "resources": {"requests": list(&container.resources.requests), "limits": list(&container.resources.limits)},
    })
}

/// The same fields of a DaemonSet of the tree.
fn reduced_daemon_set(built: &Value) -> Value {
    let spec = built.pointer("/spec/template/spec").unwrap_or(&Value::Null);
    let get = |key: &str| spec.get(key).cloned().unwrap_or_default();
    let containers = |key: &str| -> Value {
        let list = spec.get(key).and_then(Value::as_array);
        let list = list.map(|list| {
            let kept = list.iter().map(|it| json!({"name": it["name"], "image": it["image"], "resources": it["resources"]}));
            Value::Array(kept.collect())
        });
        list.unwrap_or_default()
    };
    json!({
        "metadata": built["metadata"],
        "spec": {"template": {
            "metadata": built.pointer("/spec/template/metadata").cloned().unwrap_or_default(),
            "spec": {
                "nodeSelector": get("nodeSelector"),
                "affinity": get("affinity"),
                "tolerations": get("tolerations"),
                "containers": containers("containers"),
                "initContainers": containers("initContainers"),
                "priorityClassName": get("priorityClassName"),
                "runtimeClassName": get("runtimeClassName"),
            },
        }},
    })
}
