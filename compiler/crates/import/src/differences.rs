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
            (Value::String(text), Value::String(other)) if text.starts_with('{') => {
                // The values of ConfigMaps can be JSON.
                let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
                match (parse(text), parse(other)) {
                    (Some(built), Some(found)) => {
                        self.compare(&format!("{field} »"), &built, &found);
                    }
                    _ => self.push(field, built, found),
                }
            }
            (built, found) => self.push(field, built, found),
        }
    }

    fn push(&mut self, field: &str, built: &Value, found: &Value) {
        self.differences.push(Difference {
            object: self.object.to_owned(),
            field: field.to_owned(),
            built: built.to_string(),
            found: (!found.is_null()).then(|| found.to_string()),
        });
    }

    /// Items with names are compared by name, sets without regard to their order, and others by position.
    fn compare_lists(&mut self, field: &str, items: &[Value], others: &[Value]) {
        let is_named = !items.is_empty() && items.iter().all(|it| text(it, "/name").is_some());
        if is_named {
            for item in items {
                let name = text(item, "/name").unwrap_or_default();
                let is_same =
                    |it: &&Value| text(it, "/name") == Some(name) && is_same_kind(it, item);
                let other = others.iter().find(is_same).unwrap_or(&Value::Null);
                self.compare(&format!("{field}[{name}]"), item, other);
            }
            return;
        }
        if items.len() != others.len() {
            self.push(field, &items.into(), &others.into());
            return;
        }
        let is_set = field
            .rsplit('.')
            .next()
            .is_some_and(|key| SETS.contains(&key));
        for (index, item) in items.iter().enumerate() {
            let equal = others.iter().find(|other| is_set && *other == item);
            // Groups of a ClusterQueue have no names: their resources identify them.
            let covered = |it: &Value| it.get("coveredResources").map(ToString::to_string);
            let own = covered(item);
            let alike = others.iter().find(|it| own.is_some() && covered(it) == own);
            let other = equal.or(alike).or_else(|| others.get(index));
            self.compare(
                &format!("{field}[{index}]"),
                item,
                other.unwrap_or(&Value::Null),
            );
        }
    }
}

/// The keys of lists without an order.
const SETS: &[&str] = &["matchNames", "tolerations", "validationActions", "values"];

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

pub(crate) fn is_equal(field: &str, built: &Value, found: &Value) -> bool {
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
    match (built, found) {
        (Value::String(built), Value::String(found)) => built.trim_end() == found.trim_end(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::state_without;

    fn quota(hard: &Value) -> Value {
        json!({
            "kind": "ResourceQuota", "apiVersion": "v1",
            "metadata": {"name": "team", "namespace": "ml"}, "spec": {"hard": hard},
        })
    }

    /// The differences as text.
    fn compare(built: &[Value], found: &[Value]) -> Vec<String> {
        let comparison = differences(&state_without(found, &[]), built);
        comparison
            .differences
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn quantities_are_compared_by_value() {
        let built = [quota(
            &json!({"requests.cpu": "1", "requests.memory": "1Gi"}),
        )];
        let same =
            quota(&json!({"requests.cpu": "1000m", "requests.memory": "1024Mi", "pods": "5"}));
        assert_eq!(compare(&built, &[same]), Vec::<String>::new());
        let other = quota(&json!({"requests.cpu": "2", "requests.memory": "1Gi"}));
        let text = "ResourceQuota ml/team#spec.hard[requests.cpu]: \"1\" in the tree, \"2\" in the cluster";
        assert_eq!(compare(&built, &[other]), [text]);
    }

    #[test]
    fn a_text_that_is_no_quantity_is_compared_as_it_is() {
        let class = |version: &str| {
            json!({
                "kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "a"},
                "parameters": {"version": version},
            })
        };
        assert_eq!(compare(&[class("1.0")], &[class("1")]).len(), 1);
    }

    #[test]
    fn an_absent_object_is_a_difference_only_in_a_complete_list() {
        let built = [quota(&json!({}))];
        assert_eq!(
            compare(&built, &[]),
            ["ResourceQuota ml/team: not in the cluster"]
        );
        let partial = differences(&state_without(&[], &["resourcequotas"]), &built);
        assert_eq!(partial.differences, []);
        assert_eq!(
            partial.not_compared,
            ["ResourceQuota: forbidden; the user lacks the right to list them"]
        );
    }

    #[test]
    fn kinds_that_are_not_read_are_named() {
        let built = [
            json!({"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "a"}}),
        ];
        let comparison = differences(&state_without(&[], &[]), &built);
        assert_eq!(
            comparison.not_compared,
            ["ClusterRole: gpuc does not read this kind"]
        );
        assert_eq!(comparison.compared, 0);
    }

    #[test]
    fn json_in_config_maps_is_compared_by_field() {
        let map = |replicas: u32| {
            let data = json!({"sharing": {"replicas": replicas}}).to_string();
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "gpuc-runtime-a", "namespace": "b"}, "data": {"node.json": data}})
        };
        let text = "ConfigMap b/gpuc-runtime-a#data[node.json] ».sharing.replicas: 4 in the tree, 8 in the cluster";
        assert_eq!(compare(&[map(4)], &[map(8)]), [text]);
    }

    #[test]
    fn only_the_fields_of_a_daemon_set_that_are_kept_are_compared() {
        let set = |image: &str, path: &str| {
            json!({
                "kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "a", "namespace": "kube-system"},
                "spec": {"template": {"spec": {
                    "containers": [{"name": "main", "image": image, "resources": {"limits": {"cpu": "1"}}}],
                    "tolerations": [{"key": "x", "operator": "Exists"}, {"key": "y"}],
                    "volumes": [{"name": "v", "hostPath": {"path": path}}],
                }}},
            })
        };
        assert_eq!(
            compare(&[set("i:1", "/a")], &[set("i:1", "/b")]),
            Vec::<String>::new()
        );
        let found = compare(&[set("i:1", "/a")], &[set("i:2", "/a")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("containers[main].image"));
    }
}
