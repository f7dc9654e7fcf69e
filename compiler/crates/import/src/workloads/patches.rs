//! The patches of a workload: what its object has, and gpuc does not generate.
//!
//! Source of the rules: `compile/src/lower/workloads/patch.rs`: mappings are merged, lists of named items are merged by
//! name, `null` deletes a field, and any other value is replaced.

use serde_json::{Map, Value, json};

use super::compare;

/// The keys by which lists are merged, in order of preference.
const MERGE_KEYS: &[&str] = &["mountPath", "containerPort", "name"];

/// The largest patch, in values. A workload that differs more is another one.
const MAX_VALUES: usize = 24;

/// The patch that makes the built value the found one; `None` if none is needed, or none can.
pub(super) fn patch(built: &Value, found: &Value) -> Option<Value> {
    let patch = merge(built, found).ok()??;
    (count(&patch) <= MAX_VALUES).then_some(patch)
}

/// No patch can make a value the other one.
struct Impossible;

fn merge(built: &Value, found: &Value) -> Result<Option<Value>, Impossible> {
    if compare::difference(built, found).is_none() {
        return Ok(None);
    }
    match (built, found) {
        (Value::Object(built), Value::Object(found)) => merge_maps(built, found),
        (Value::Array(built), Value::Array(found)) => match merge_key(built, found) {
            Some(key) => merge_lists(built, found, key),
            None => Ok(Some(json!(found))),
        },
        _ => Ok(Some(found.clone())),
    }
}

fn merge_maps(
    built: &Map<String, Value>,
    found: &Map<String, Value>,
) -> Result<Option<Value>, Impossible> {
    let mut patch = Map::new();
    for (key, value) in built {
        let change = match found.get(key) {
            Some(found) => merge(value, found)?,
            None => Some(Value::Null),
        };
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    for (key, value) in found.iter().filter(|(key, _)| !built.contains_key(*key)) {
        // Whether it is a default depends on the object around it.
        let alone = json!({key: value});
        if compare::difference(&json!({}), &alone).is_some() {
            patch.insert(key.clone(), value.clone());
        }
    }
    Ok((!patch.is_empty()).then_some(Value::Object(patch)))
}

/// The key by which both lists are merged.
fn merge_key(built: &[Value], found: &[Value]) -> Option<&'static str> {
    let mut keys = MERGE_KEYS.iter().copied();
    keys.find(|key| {
        let mut all = built.iter().chain(found);
        !built.is_empty() && !found.is_empty() && all.all(|it| it.get(key).is_some())
    })
}

fn merge_lists(built: &[Value], found: &[Value], key: &str) -> Result<Option<Value>, Impossible> {
    let is_kept = |item: &Value| found.iter().any(|it| it[key] == item[key]);
    if !built.iter().all(is_kept) {
        return Err(Impossible);
    }
    let mut patch = Vec::new();
    for item in found {
        let own = built.iter().find(|it| it[key] == item[key]);
        let change = match own {
            Some(own) => merge(own, item)?.map(|mut change| {
                change[key] = item[key].clone();
                change
            }),
            None => Some(item.clone()),
        };
        patch.extend(change);
    }
    Ok((!patch.is_empty()).then_some(Value::Array(patch)))
}

/// The number of values in a patch.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(entries) => entries.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_have_only_what_differs() {
        let built = json!({"hostIPC": true, "containers": [{"name": "main", "image": "a", "args": ["x"]}], "paused": true});
        let found = json!({"hostIPC": false, "containers": [
            {"name": "main", "image": "a", "args": ["y"], "imagePullPolicy": "Always"}, {"name": "side", "image": "b"},
        ]});
        let expected = json!({"hostIPC": false, "paused": null, "containers": [
            {"name": "main", "args": ["y"]}, {"name": "side", "image": "b"},
        ]});
        assert_eq!(patch(&built, &found), Some(expected));
        assert_eq!(patch(&found, &found), None);
    }

    #[test]
    fn a_patch_cannot_remove_a_named_item() {
        let built = json!({"containers": [{"name": "main"}, {"name": "side"}]});
        assert_eq!(
            patch(&built, &json!({"containers": [{"name": "main"}]})),
            None
        );
    }
}
