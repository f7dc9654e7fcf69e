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
    /// The name of one has a random suffix, and the selector has the label with the name.
    RandomName(&'d DeclaredPool, String),
    /// The labels of these are not known, and no other one is selected; each with the attribute.
    Unknown(Vec<(&'d DeclaredPool, &'static str)>),
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

/// Domains of labels that Kubernetes, the clouds and NVIDIA's components set on nodes, with their subdomains. A
/// configuration rarely has them, and most clouds refuse them.
const SET_BY_OTHERS: &[&str] = &[
    "amazonaws.com",
    "azure.com",
    "cloud.google.com",
    "k8s.aws",
    "k8s.io",
    "kubernetes.io",
    "nvidia.com",
];

fn is_set_by_others(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_below = |own: &str| {
        let parent = domain.strip_suffix(own);
        parent.is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
    };
    SET_BY_OTHERS.iter().any(|own| is_below(own))
}

/// Finds the node pools of an existing pool.
pub(super) fn find_pools<'d>(pool: &Pool, pools: &[&'d DeclaredPool]) -> Match<'d> {
    let selector = &pool.selector;
    let mut names = selector.iter();
    let name = names.find(|label| NAME_LABELS.contains(&label.key.as_str()));
    let (mut selected, mut unknown) = (Vec::new(), Vec::new());
    for declared in pools {
        match missing_labels(selector, declared) {
            Missing::Labels(missing) if missing.is_empty() => selected.push(*declared),
            Missing::Labels(_) => {}
            Missing::Unknown(attribute) => unknown.push((*declared, attribute)),
        }
    }
    if let Some(label) = name {
        let mut candidates = if selected.is_empty() {
            pools.iter()
        } else {
            selected.iter()
        };
        if let Some(declared) = candidates.find(|it| has_random_name(it, &label.value)) {
            return Match::RandomName(declared, format!("{}={}", label.key, label.value));
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
    if unknown.is_empty() {
        Match::None
    } else {
        Match::Unknown(unknown)
    }
}

/// Whether a node pool has a name with a random suffix that a selector means.
fn has_random_name(declared: &DeclaredPool, selected: &str) -> bool {
    let prefix = declared.name_prefix.as_deref().filter(|it| !it.is_empty());
    prefix.is_some_and(|prefix| match &declared.name {
        Some(name) if name == selected => name.starts_with(prefix),
        _ => prefix.trim_end_matches('-') == selected || selected.starts_with(prefix),
    })
}

/// The labels of a selector that a node pool does not have.
enum Missing {
    /// These.
    Labels(BTreeMap<String, String>),
    /// This attribute, which determines it, is not known.
    Unknown(&'static str),
}

fn missing_labels(selector: &[Label], declared: &DeclaredPool) -> Missing {
    let mut missing = BTreeMap::new();
    let mut unknown = None;
    for label in selector {
        let by_cloud = declared.cloud_labels.get(&label.key);
        let of_configuration = declared.labels.as_ref();
        let found = by_cloud.or_else(|| of_configuration.and_then(|it| it.get(&label.key)));
        if found == Some(&label.value) {
            continue;
        }
        if found.is_none() {
            if NAME_LABELS.contains(&label.key.as_str()) {
                if declared.name.is_none() && declared.name_prefix.is_none() {
                    unknown = Some("name");
                    continue;
                }
            } else if is_set_by_others(&label.key) {
                // The nodes have it or not; the configuration does not say.
                continue;
            } else if of_configuration.is_none() || declared.unknown_labels.contains(&label.key) {
                unknown = Some(declared.attributes.labels);
                continue;
            }
        }
        missing.insert(label.key.clone(), label.value.clone());
    }
    match unknown {
        Some(attribute) if missing.is_empty() => Missing::Unknown(attribute),
        _ => Missing::Labels(missing),
    }
}
