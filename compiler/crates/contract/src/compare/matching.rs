//! Which node pools of a configuration are a pool of the file.

use std::collections::BTreeMap;

use gpuc_model::{Label, Pool};

use crate::terraform::DeclaredPool;

/// The node pools of a pool.
#[derive(Debug)]
pub(super) enum Match<'d> {
    /// They have the labels of the selector.
    Selected(Vec<&'d DeclaredPool>),
    /// One has the name, but not these labels.
    Named(&'d DeclaredPool, BTreeMap<String, String>),
    /// One would have the name, if it had no random suffix; the label in the selector.
    RandomName(&'d DeclaredPool, String),
    /// The labels of these are not known, and no other one is selected.
    Unknown(Vec<&'d DeclaredPool>),
    /// None.
    None,
}

/// Labels with the name of a node pool, which the clouds set.
const NAME_LABELS: &[&str] = &[
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
];

/// Finds the node pools of an existing pool.
pub(super) fn find_pools<'d>(pool: &Pool, pools: &[&'d DeclaredPool]) -> Match<'d> {
    let selector = &pool.selector;
    let (mut selected, mut unknown) = (Vec::new(), Vec::new());
    for declared in pools {
        match missing_labels(selector, declared) {
            Missing::Labels(missing) if missing.is_empty() => selected.push(*declared),
            Missing::Labels(_) => {}
            Missing::Unknown => unknown.push(*declared),
        }
    }
    if !selected.is_empty() {
        return Match::Selected(selected);
    }
    let by_name = |declared: &&&DeclaredPool| declared.name.as_deref() == Some(pool.name.as_str());
    if let Some(declared) = pools.iter().find(by_name)
        && let Missing::Labels(missing) = missing_labels(selector, declared)
    {
        return Match::Named(declared, missing);
    }
    let mut names = selector
        .iter()
        .filter(|label| NAME_LABELS.contains(&label.key.as_str()));
    if let Some(label) = names.next() {
        let has_prefix = |declared: &&&DeclaredPool| {
            let prefix = declared.name_prefix.as_deref().filter(|it| !it.is_empty());
            declared.name.as_deref() != Some(label.value.as_str())
                && prefix.is_some_and(|prefix| {
                    label.value.starts_with(prefix) || prefix.trim_end_matches('-') == label.value
                })
        };
        if let Some(declared) = pools.iter().find(has_prefix) {
            return Match::RandomName(declared, format!("{}={}", label.key, label.value));
        }
    }
    if unknown.is_empty() {
        Match::None
    } else {
        Match::Unknown(unknown)
    }
}

/// The labels of a selector that a node pool does not have.
enum Missing {
    /// These.
    Labels(BTreeMap<String, String>),
    /// The labels of the node pool are not known.
    Unknown,
}

fn missing_labels(selector: &[Label], declared: &DeclaredPool) -> Missing {
    let mut missing = BTreeMap::new();
    for label in selector {
        let by_cloud = declared.cloud_labels.get(&label.key);
        let found = match (by_cloud, &declared.labels) {
            (Some(value), _) => Some(value),
            (None, Some(labels)) => labels.get(&label.key),
            // The name and the labels of the cloud are never in the configuration's labels.
            (None, None) if NAME_LABELS.contains(&label.key.as_str()) => None,
            (None, None) => return Missing::Unknown,
        };
        if found != Some(&label.value) {
            missing.insert(label.key.clone(), label.value.clone());
        }
    }
    Missing::Labels(missing)
}
