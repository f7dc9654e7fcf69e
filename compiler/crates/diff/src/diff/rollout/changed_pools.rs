//! Selections of changes, their numbers, and the names of their pools.

use std::collections::BTreeSet;

use super::super::report::{Change, Status};

/// Whether an object has a changed immutable field.
pub(super) fn has_immutable_field(change: &Change) -> bool {
    change.fields.iter().any(|field| field.is_fixed)
}

/// Sorts numbers and removes duplicates.
pub(super) fn sorted_unique(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The numbers of changes, as reported.
pub(super) fn change_ids(changes: &[&Change]) -> Vec<usize> {
    changes.iter().map(|change| change.id).collect()
}

/// The changes of a pool, among these changes.
pub(super) fn pool_changes<'c>(
    changes: impl IntoIterator<Item = &'c Change>,
    pool: &str,
) -> Vec<&'c Change> {
    (changes.into_iter())
        .filter(|change| change.kind == "pool" && change.names.iter().any(|name| name == pool))
        .collect()
}

/// The names of removed pools, among these changes.
pub(super) fn removed_pool_names(changes: &[&Change]) -> BTreeSet<String> {
    pool_names(changes, |status| status == Status::Removed)
}

/// The names of added and changed pools, among these changes.
pub(super) fn remaining_pool_names(changes: &[&Change]) -> BTreeSet<String> {
    pool_names(changes, |status| status != Status::Removed)
}

fn pool_names(changes: &[&Change], has_status: impl Fn(Status) -> bool) -> BTreeSet<String> {
    (changes.iter())
        .filter(|change| change.kind == "pool" && has_status(change.status))
        .flat_map(|change| change.names.clone())
        .collect()
}
