//! What the plugins count, for whoever shows it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The counts of all resources that were ever served.
#[derive(Debug, Default)]
pub struct Counts {
    resources: Mutex<BTreeMap<String, Arc<ResourceCounts>>>,
}

/// What was counted of one resource. All but the last three only grow.
#[derive(Debug, Default)]
pub struct ResourceCounts {
    /// Registrations that the kubelet answered with yes.
    pub registrations: AtomicU64,
    /// Registrations that the kubelet answered with no or not at all; one that does not listen yet is not counted.
    pub registration_errors: AtomicU64,
    /// How long Allocate took; refusals too.
    pub allocate: Latency,
    /// Allocates that were refused.
    pub allocate_refusals: AtomicU64,
    /// How long GetPreferredAllocation took.
    pub preferred: Latency,
    /// Lists sent.
    pub lists: AtomicU64,
    /// Lists that somebody is listening to now.
    pub listeners: AtomicU64,
    /// Whether the socket is there.
    pub bound: AtomicBool,
    /// Whether the kubelet that runs now knows the plugin.
    pub registered: AtomicBool,
}

/// The upper bounds of a latency's buckets, in seconds.
pub const BOUNDS: [f64; 9] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0,
];

/// How long something took, as a histogram.
#[derive(Debug, Default)]
pub struct Latency {
    /// How many fell at or below each bound and above the one before; the last is for those above all bounds.
    pub buckets: [AtomicU64; BOUNDS.len() + 1],
    /// All of them together, in nanoseconds.
    pub sum: AtomicU64,
}

impl Counts {
    /// The counts of a resource; made when they are first asked for.
    pub fn resource(&self, resource: &str) -> Arc<ResourceCounts> {
        let mut resources = self.lock();
        Arc::clone(resources.entry(resource.to_owned()).or_default())
    }

    /// The counts of all resources, by name.
    pub fn all(&self) -> Vec<(String, Arc<ResourceCounts>)> {
        let resources = self.lock();
        let all = resources.iter();
        all.map(|(name, counts)| (name.clone(), Arc::clone(counts)))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<ResourceCounts>>> {
        // Nothing that holds the lock can leave the map half changed.
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Latency {
    /// Counts one that took so long.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.buckets[bucket.unwrap_or(BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.sum.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets
            .iter()
            .map(|it| it.load(Ordering::Relaxed))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_falls_into_one_bucket() {
        let latency = Latency::default();
        for micros in [0, 50, 51, 2_000_000] {
            latency.observe(Duration::from_micros(micros));
        }
        let buckets: Vec<_> = latency
            .buckets
            .iter()
            .map(|it| it.load(Ordering::Relaxed))
            .collect();
        assert_eq!(buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(latency.count(), 4);
        assert_eq!(latency.sum.load(Ordering::Relaxed), 2_000_101_000);
    }
}
