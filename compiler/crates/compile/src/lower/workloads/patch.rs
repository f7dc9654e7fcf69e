//! Applies the user's patches to the objects of a workload.

use gpuc_model::plan::Object;
use gpuc_schema::config::Workload;
use gpuc_syntax::node::{Entry, Node, Scalar, Value};

use super::is_pod_spec;

/// The merge keys of list items, in order of preference.
///
/// Source: the `x-kubernetes-patch-merge-key`s of Kubernetes' definitions (from memory).
const MERGE_KEYS: &[&str] = &["mountPath", "containerPort", "name"];

/// Applies `podPatch` to every pod template of an object, and `patch` to the workload's main object.
pub(super) fn apply(workload: &Workload, object: &mut Object) {
    if !workload.pod_patch.value.is_empty() {
        let patch = Node::from_fragment(&workload.pod_patch);
        for spec in pod_specs_mut(&mut object.node) {
            let original = std::mem::replace(spec, Node::from_json(serde_json::Value::Null));
            *spec = merge_patch(original, &patch);
        }
    }
    if !workload.patch.value.is_empty() && is_main_kind(&object.identity.kind) {
        let original =
            std::mem::replace(&mut object.node, Node::from_json(serde_json::Value::Null));
        let patch = Node::from_fragment(&workload.patch);
        object.node = merge_patch(original, &patch);
        if object.identity.kind == "Deployment" {
            drop_rolling_update(&mut object.node, &patch);
        }
    }
}

/// Removes gpuc's `rollingUpdate` if a patch sets the strategy `Recreate`, because a Deployment cannot have both. A
/// `rollingUpdate` in the patch itself stays, for the API server to reject.
///
/// Source: kubernetes pkg/apis/apps/validation/validation.go, `ValidateDeploymentStrategy` (from memory).
fn drop_rolling_update(deployment: &mut Node, patch: &Node) {
    let strategy_field = |node: &Node, key: &str| {
        let strategy = node.get("spec").and_then(|spec| spec.get("strategy"));
        strategy.and_then(|it| it.get(key)).cloned()
    };
    let kind = strategy_field(deployment, "type");
    let is_recreate = kind.is_some_and(|it| it.text() == Some("Recreate"));
    if !is_recreate || strategy_field(patch, "rollingUpdate").is_some() {
        return;
    }
    let strategy = value_mut(deployment, "spec").and_then(|spec| value_mut(spec, "strategy"));
    if let Some(Node {
        value: Value::Mapping(entries),
        ..
    }) = strategy
    {
        entries.retain(|entry| entry.key != "rollingUpdate");
    }
}

fn value_mut<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    let Value::Mapping(entries) = &mut node.value else {
        return None;
    };
    let mut entries = entries.iter_mut();
    let entry = entries.find(|entry| entry.key == key);
    entry.map(|entry| &mut entry.value)
}

/// Whether an object of this kind is the main object of a workload.
pub(crate) fn is_main_kind(kind: &str) -> bool {
    matches!(
        kind,
        "Job"
            | "CronJob"
            | "Deployment"
            | "StatefulSet"
            | "TrainJob"
            | "PyTorchJob"
            | "JobSet"
            | "LeaderWorkerSet"
    )
}

/// Merges a patch: mappings merge, lists of named items merge by name, `null` removes a key, and everything else is
/// replaced. Each node keeps its origin.
fn merge_patch(ours: Node, theirs: &Node) -> Node {
    match (ours.value, &theirs.value) {
        (Value::Mapping(below), Value::Mapping(above)) => Node {
            value: Value::Mapping(merge_mappings(below, above)),
            origin: ours.origin,
        },
        (Value::Sequence(below), Value::Sequence(above)) => match common_merge_key(&below, above) {
            Some(key) => Node {
                value: Value::Sequence(merge_sequences(below, above, key)),
                origin: ours.origin,
            },
            None => theirs.clone(),
        },
        _ => theirs.clone(),
    }
}

fn merge_mappings(mut below: Vec<Entry>, above: &[Entry]) -> Vec<Entry> {
    for entry in above {
        let position = below.iter().position(|ours| ours.key == entry.key);
        if is_null(&entry.value) {
            if let Some(position) = position {
                below.remove(position);
            }
            continue;
        }
        match position {
            Some(position) => {
                let ours = below.remove(position);
                let value = merge_patch(ours.value, &entry.value);
                let entry = Entry {
                    value,
                    ..entry.clone()
                };
                below.insert(position, entry);
            }
            None => below.push(entry.clone()),
        }
    }
    below
}

fn merge_sequences(mut below: Vec<Node>, above: &[Node], key: &str) -> Vec<Node> {
    for item in above {
        let has_same_key = |ours: &Node| {
            let (ours, theirs) = (ours.get(key), item.get(key));
            ours.map(|it| serde_json::json!(it)) == theirs.map(|it| serde_json::json!(it))
        };
        match below.iter().position(has_same_key) {
            Some(position) => {
                let ours = below.remove(position);
                below.insert(position, merge_patch(ours, item));
            }
            None => below.push(item.clone()),
        }
    }
    below
}

/// The key that every item of both lists has.
fn common_merge_key(below: &[Node], above: &[Node]) -> Option<&'static str> {
    let is_in_every_item = |key: &&&str| {
        let mut items = below.iter().chain(above);
        items.all(|item| item.get(key).is_some())
    };
    MERGE_KEYS.iter().find(is_in_every_item).copied()
}

fn is_null(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Scalar::Null))
}

/// The specs of all pods in an object.
pub(crate) fn pod_specs(node: &Node) -> Vec<&Node> {
    if is_pod_spec(node) {
        return vec![node];
    }
    let below = node.entries().iter().map(|entry| &entry.value);
    let below = below.chain(node.items());
    below.flat_map(pod_specs).collect()
}

fn pod_specs_mut(node: &mut Node) -> Vec<&mut Node> {
    if is_pod_spec(node) {
        return vec![node];
    }
    match &mut node.value {
        Value::Mapping(entries) => {
            let below = entries.iter_mut().map(|entry| &mut entry.value);
            below.flat_map(pod_specs_mut).collect()
        }
        Value::Sequence(items) => items.iter_mut().flat_map(pod_specs_mut).collect(),
        Value::Scalar(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    /// JSON with its nulls.
    fn node(value: &Json) -> Node {
        let value = match value {
            Json::Object(fields) => {
                let entry = |(key, value): (&String, &Json)| Entry {
                    key: key.clone(),
                    key_span: gpuc_syntax::source::Span::NONE,
                    value: node(value),
                };
                Value::Mapping(fields.iter().map(entry).collect())
            }
            Json::Array(items) => Value::Sequence(items.iter().map(node).collect()),
            other => return Node::from_json(other.clone()),
        };
        Node::written(value, gpuc_syntax::source::Span::NONE)
    }

    #[track_caller]
    fn check(below: &Json, above: &Json, merged: &Json) {
        assert_eq!(json!(merge_patch(node(below), &node(above))), *merged);
    }

    #[test]
    fn named_items_merge_by_name() {
        check(
            &json!({"containers": [{"name": "main", "image": "a", "env": [{"name": "A", "value": "1"}]}]}),
            &json!({"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}, {"name": "side"}]}),
            &json!({"containers": [{"name": "main", "image": "a",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, {"name": "side"}]}),
        );
        check(
            &json!({"mounts": [{"name": "a", "mountPath": "/a"}]}),
            &json!({"mounts": [{"name": "b", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]}),
            &json!({"mounts": [{"name": "b", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]}),
        );
    }

    #[test]
    fn null_removes_and_unnamed_lists_are_replaced() {
        check(
            &json!({"a": {"b": 1, "c": 2}, "command": ["x", "y"]}),
            &json!({"a": {"b": null}, "command": ["z"], "d": null}),
            &json!({"a": {"c": 2}, "command": ["z"]}),
        );
    }

    #[test]
    fn recreate_drops_rolling_update() {
        let rolling = json!({"maxSurge": 0, "maxUnavailable": 1});
        let ours = node(&json!({"spec": {"strategy": {"rollingUpdate": rolling}}}));
        for (patch, after) in [
            (json!({"type": "Recreate"}), json!({"type": "Recreate"})),
            (
                json!({"type": "RollingUpdate"}),
                json!({"rollingUpdate": rolling, "type": "RollingUpdate"}),
            ),
            (
                json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
                json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
            ),
        ] {
            let patch = node(&json!({"spec": {"strategy": patch}}));
            let mut merged = merge_patch(ours.clone(), &patch);
            drop_rolling_update(&mut merged, &patch);
            assert_eq!(json!(merged), json!({"spec": {"strategy": after}}));
        }
    }

    #[test]
    fn pods_are_found_at_any_depth() {
        let object = json!({"spec": {"jobs": [{"template": {"spec": {"containers": [{"name": "a"}]}}}],
            "other": {"spec": {"containers": [{"name": "b"}]}}}});
        let found = node(&object);
        let found = pod_specs(&found);
        let names = found
            .iter()
            .map(|spec| json!(spec)["containers"][0]["name"].clone());
        assert_eq!(names.collect::<Vec<_>>(), [json!("a"), json!("b")]);
    }
}
