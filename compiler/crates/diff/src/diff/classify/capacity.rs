//! Whether capacity grows or shrinks, and which nodes are removed.

use super::super::changes::Delta;
use super::super::entities::{Entities, Entity};
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;

/// Verdict for a pool whose number of nodes changes.
pub(super) fn classify_node_count(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let impact = resize_impact(delta);
    let is_by_script = setting.entity(&delta.key).is_some_and(|entity: &Entity| {
        entity.node_provisioner.is_none() && !entity.field_kinds.is_empty()
    });
    let size = |value: &Option<serde_json::Value>, key: &str| value.as_ref()?.get(key)?.as_u64();
    let most = [&delta.from, &delta.to].map(|value| size(value, "max"));
    let fewest = [&delta.from, &delta.to].map(|value| size(value, "min"));
    let grows = [0, 1].map(|side| fewest[side] < most[side]);
    if is_by_script
        && most[1] < most[0]
        && let Some(source) = setting.keeps_above_maximum(grows)
    {
        return Classification::with_source(
            impact,
            "no nodes are added above the maximum; existing nodes above it stay until their pods are gone",
            source,
        );
    }
    if is_by_script && !setting.before.has_user_hosts && most[1] < most[0] {
        return Classification::with_reason(
            Impact::WorkloadRestarted,
            "the cloud chooses which nodes to remove, and their pods terminate or are evicted",
        );
    }
    Classification::without_reason(impact)
}

impl DiffContext<'_> {
    /// The source of the fact that nodes above a lowered maximum stay, if the pool is autoscaled on both sides.
    pub(in crate::diff) fn keeps_above_maximum(&self, grows: [bool; 2]) -> Option<&'static str> {
        self.after
            .keeps_above_maximum
            .filter(|_| grows == [true; 2])
    }
}

/// Whether nodes are removed from some of their locations.
pub(super) fn removes_locations(delta: &Delta) -> bool {
    match (&delta.from, &delta.to) {
        (Some(serde_json::Value::Array(from)), Some(serde_json::Value::Array(to))) => {
            from.iter().any(|location| !to.contains(location))
        }
        _ => false,
    }
}

/// Whether pools lose or gain capacity, by their minimum and maximum; `None` if both are unchanged.
pub(super) fn capacity_impact<'n>(
    setting: &DiffContext<'_>,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<Impact> {
    let sizes = |entities: &Entities, name: &str| {
        let mut pools = entities.summary.pools.iter();
        let pool = pools.find(|pool| pool.name == name)?;
        let nodes = [pool.min_nodes, pool.max_nodes].map(u64::from);
        Some([nodes, [pool.min_gpus, pool.max_gpus]].concat())
    };
    let both = names
        .into_iter()
        .filter_map(|name| sizes(setting.before, name).zip(sizes(setting.after, name)));
    let pairs: Vec<(u64, u64)> = both
        .flat_map(|(old, new)| old.into_iter().zip(new))
        .collect();
    if pairs.iter().any(|(old, new)| new < old) {
        return Some(Impact::CapacityLost);
    }
    let grows = pairs.iter().any(|(old, new)| new > old);
    grows.then_some(Impact::CapacityGained)
}

/// Whether capacity shrinks: a number is lower, or is removed.
pub(super) fn resize_impact(delta: &Delta) -> Impact {
    let is_smaller =
        |from: &serde_json::Value, to: &serde_json::Value| match (from.as_f64(), to.as_f64()) {
            (Some(from), Some(to)) => to < from,
            _ => false,
        };
    let is_less = match (&delta.from, &delta.to) {
        (Some(serde_json::Value::Object(from)), Some(serde_json::Value::Object(to))) => from
            .iter()
            .any(|(key, from)| to.get(key).is_none_or(|to| is_smaller(from, to))),
        _ if removes_locations(delta) => true,
        (Some(from), Some(to)) => is_smaller(from, to),
        (_, to) => to.is_none(),
    };
    if is_less {
        Impact::CapacityLost
    } else {
        Impact::CapacityGained
    }
}
