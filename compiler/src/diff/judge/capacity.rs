//! Whether nodes come or go, and who picks those that go.

use super::super::deltas::Delta;
use super::super::impact::Impact;
use super::super::parts::{Part, Parts};
use super::{Setting, Verdict};

/// What becomes of a pool whose number of nodes changes.
pub(super) fn sized(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let impact = resized(delta);
    let is_by_script = setting
        .part(&delta.key)
        .is_some_and(|part: &Part| part.maker.is_none() && !part.fields.is_empty());
    let size = |value: &Option<serde_json::Value>, key: &str| value.as_ref()?.get(key)?.as_u64();
    let most = [&delta.from, &delta.to].map(|value| size(value, "max"));
    let fewest = [&delta.from, &delta.to].map(|value| size(value, "min"));
    let grows = [0, 1].map(|side| fewest[side] < most[side]);
    if is_by_script
        && most[1] < most[0]
        && let Some(source) = setting.keeps_above_maximum(grows)
    {
        return Verdict::fact(
            impact,
            "no more nodes come than that; those above it stay until nothing on them is needed",
            source,
        );
    }
    if is_by_script && !setting.before.own_hosts && most[1] < most[0] {
        return Verdict::because(
            Impact::WorkloadRestarted,
            "the cloud picks which nodes leave, and pods on them end or are evicted",
        );
    }
    Verdict::plain(impact)
}

impl Setting<'_> {
    /// Where it is seen that nodes above a lower maximum stay, of a pool that grows and shrinks by itself on these
    /// sides.
    pub(in crate::diff) fn keeps_above_maximum(&self, grows: [bool; 2]) -> Option<&'static str> {
        self.after
            .keeps_above_maximum
            .filter(|_| grows == [true; 2])
    }
}

/// Whether nodes leave some of the places that they are in.
pub(super) fn leaves_places(delta: &Delta) -> bool {
    match (&delta.from, &delta.to) {
        (Some(serde_json::Value::Array(from)), Some(serde_json::Value::Array(to))) => {
            from.iter().any(|place| !to.contains(place))
        }
        _ => false,
    }
}

/// Whether pools have less or more afterwards, by what each has at the fewest and at the most; nothing where that is as
/// it was.
pub(super) fn capacity<'n>(
    setting: &Setting<'_>,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<Impact> {
    let sizes = |parts: &Parts, name: &str| {
        let mut pools = parts.summary.pools.iter();
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

/// Whether there is less afterwards: a number that is smaller, or one that is gone.
pub(super) fn resized(delta: &Delta) -> Impact {
    let less = |from: &serde_json::Value, to: &serde_json::Value| match (from.as_f64(), to.as_f64())
    {
        (Some(from), Some(to)) => to < from,
        _ => false,
    };
    let is_less = match (&delta.from, &delta.to) {
        (Some(serde_json::Value::Object(from)), Some(serde_json::Value::Object(to))) => from
            .iter()
            .any(|(key, from)| to.get(key).is_none_or(|to| less(from, to))),
        _ if leaves_places(delta) => true,
        (Some(from), Some(to)) => less(from, to),
        (_, to) => to.is_none(),
    };
    if is_less {
        Impact::CapacityLost
    } else {
        Impact::CapacityGained
    }
}
