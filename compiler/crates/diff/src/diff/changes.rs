//! Differences between two states of a cluster, field by field.

use std::collections::BTreeSet;

use gpuc_syntax::source::Span;
use serde_json::Value as Json;

use super::entities::{Entities, Entity, EntityKey};
use super::fields::FieldValue;

/// A field that differs, or a whole entity that was added or removed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delta {
    /// The entity.
    pub key: EntityKey,
    /// The field; `None` for a whole entity.
    pub path: Option<String>,
    /// The value before the change.
    pub from: Option<Json>,
    /// The value after the change.
    pub to: Option<Json>,
    /// The locations in the input that it is derived from.
    pub inputs: Vec<Span>,
}

/// Whether an entity was added, removed or modified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EntityChange {
    /// Added by the change.
    Added,
    /// Removed by the change.
    Removed,
    /// On both sides.
    Modified,
}

impl Delta {
    /// Whether the entity was added, removed or modified.
    pub(super) fn entity_change(&self) -> EntityChange {
        match (&self.path, &self.from) {
            (Some(_), _) => EntityChange::Modified,
            (None, None) => EntityChange::Added,
            (None, Some(_)) => EntityChange::Removed,
        }
    }
}

/// Every difference, by entity and field.
pub(super) fn find_deltas(before: &Entities, after: &Entities) -> Vec<Delta> {
    let keys: BTreeSet<&EntityKey> = before.by_key.keys().chain(after.by_key.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        match (before.by_key.get(key), after.by_key.get(key)) {
            (Some(old), Some(new)) => collect_field_deltas(key, old, new, &mut found),
            (None, Some(new)) => found.push(entity_delta(key, new, None, Some(Json::Bool(true)))),
            (Some(old), None) => found.push(entity_delta(key, old, Some(Json::Bool(true)), None)),
            (None, None) => {}
        }
    }
    found
}

fn entity_delta(key: &EntityKey, entity: &Entity, from: Option<Json>, to: Option<Json>) -> Delta {
    let inputs: BTreeSet<Span> = entity
        .fields
        .values()
        .flat_map(|leaf| leaf.inputs.clone())
        .collect();
    Delta {
        key: key.clone(),
        path: None,
        from,
        to,
        inputs: inputs.into_iter().collect(),
    }
}

fn collect_field_deltas(key: &EntityKey, old: &Entity, new: &Entity, found: &mut Vec<Delta>) {
    let paths: BTreeSet<&String> = old.fields.keys().chain(new.fields.keys()).collect();
    for path in paths {
        let (before, after) = (old.fields.get(path), new.fields.get(path));
        let value = |leaf: Option<&FieldValue>| leaf.map_or(Json::Null, |leaf| leaf.value.clone());
        // An explicit null equals an absent field.
        if value(before) == value(after) {
            continue;
        }
        found.push(Delta {
            key: key.clone(),
            path: Some(path.clone()),
            from: before.map(|leaf| leaf.value.clone()),
            to: after.map(|leaf| leaf.value.clone()),
            inputs: after
                .or(before)
                .map_or_else(Vec::new, |leaf| leaf.inputs.clone()),
        });
    }
}
