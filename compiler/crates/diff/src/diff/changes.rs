//! Differences between two states of a cluster, field by field.

use std::collections::BTreeSet;

use gpuc_syntax::source::Span;
use serde_json::Value as Json;

use super::entities::{Key, Part, Parts};
use super::fields::Leaf;

/// A field that differs, or a whole entity that was added or removed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delta {
    /// The entity.
    pub key: Key,
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
pub(super) enum Fate {
    /// Added by the change.
    Came,
    /// Removed by the change.
    Went,
    /// On both sides.
    Stayed,
}

impl Delta {
    /// Whether the whole entity was added or removed.
    pub(super) fn fate(&self) -> Fate {
        match (&self.path, &self.from) {
            (Some(_), _) => Fate::Stayed,
            (None, None) => Fate::Came,
            (None, Some(_)) => Fate::Went,
        }
    }
}

/// Every difference, by entity and field.
pub(super) fn deltas(before: &Parts, after: &Parts) -> Vec<Delta> {
    let keys: BTreeSet<&Key> = before.all.keys().chain(after.all.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        match (before.all.get(key), after.all.get(key)) {
            (Some(old), Some(new)) => fields(key, old, new, &mut found),
            (None, Some(new)) => found.push(whole(key, new, None, Some(Json::Bool(true)))),
            (Some(old), None) => found.push(whole(key, old, Some(Json::Bool(true)), None)),
            (None, None) => {}
        }
    }
    found
}

fn whole(key: &Key, part: &Part, from: Option<Json>, to: Option<Json>) -> Delta {
    let inputs: BTreeSet<Span> = part
        .leaves
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

fn fields(key: &Key, old: &Part, new: &Part, found: &mut Vec<Delta>) {
    let paths: BTreeSet<&String> = old.leaves.keys().chain(new.leaves.keys()).collect();
    for path in paths {
        let (before, after) = (old.leaves.get(path), new.leaves.get(path));
        let value = |leaf: Option<&Leaf>| leaf.map_or(Json::Null, |leaf| leaf.value.clone());
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
