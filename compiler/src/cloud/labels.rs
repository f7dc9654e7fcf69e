//! Labels that clouds put on nodes by themselves.

use super::CLOUDS;
use crate::model::{MachineType, Pool};

/// A label that a cloud puts on nodes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnLabel {
    /// Its key.
    pub key: &'static str,
    /// What it may be: several values where the pool's nodes differ by it, and none where they do not have it.
    pub values: Vec<String>,
    /// Whether every node has it. Where it is not known that all do, a node may lack it.
    pub always: bool,
    /// Whether the values are only what it begins with.
    pub begins: bool,
}

impl OwnLabel {
    /// A label of every node.
    pub(super) fn always(key: &'static str, value: impl Into<String>) -> Self {
        Self {
            key,
            values: vec![value.into()],
            always: true,
            begins: false,
        }
    }

    /// A label of every node that begins with one of these.
    pub(super) fn beginning(key: &'static str, values: Vec<String>) -> Self {
        Self {
            key,
            values,
            always: true,
            begins: true,
        }
    }

    /// A label that has this value where it is.
    pub(super) fn perhaps(key: &'static str, value: impl Into<String>) -> Self {
        Self {
            always: false,
            ..Self::always(key, value)
        }
    }

    /// A label of no node.
    pub(super) fn never(key: &'static str) -> Self {
        Self {
            key,
            values: Vec::new(),
            always: true,
            begins: false,
        }
    }
}

/// What begins the labels of all clouds but this one, for a pool whose nodes it makes. Hosts of the user's, and pools
/// that were there before, may have any labels.
pub(super) fn labels_of_others(own: &str, pool: &Pool) -> Vec<&'static str> {
    let others = CLOUDS.iter().map(|cloud| cloud.facts());
    let others: Vec<_> = others.filter(|facts| facts.key != own).collect();
    let is_made =
        !pool.is_existing() && !matches!(pool.machine.get(), None | Some(MachineType::Host));
    let prefixes = others.iter().flat_map(|facts| facts.label_prefixes);
    prefixes.copied().filter(|_| is_made).collect()
}

/// The labels by which a cloud's controller says where a node is. Of zones that nobody names it is certain how they
/// begin: every cloud that has zones calls them after their region, and `others` are what nodes without one have.
///
/// Source: <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
pub(super) fn labels_of_place(
    zones: impl IntoIterator<Item = String>,
    region: String,
    others: &[&str],
) -> Vec<OwnLabel> {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let zones: Vec<String> = zones.into_iter().collect();
    let zone = if zones.is_empty() {
        let others = others.iter().map(|other| (*other).to_owned());
        OwnLabel::beginning(ZONE, [region.clone()].into_iter().chain(others).collect())
    } else {
        OwnLabel {
            values: zones,
            ..OwnLabel::never(ZONE)
        }
    };
    vec![
        zone,
        OwnLabel::always("topology.kubernetes.io/region", region),
    ]
}
