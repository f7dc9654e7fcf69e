//! What the daemon counts about itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Metric;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::family::{Family, Kind, Labels, Number};
use crate::device::{Gpu, Inventory};
use crate::health::{HealthEvent, Monitoring, Reaction, WatchReport};
use crate::nvml::{NvmlErrorKind, NvmlEventKind};

type Counters = Metric<Labels, Counter>;

/// Counters of the daemon. Copies count together.
#[derive(Clone, Debug)]
pub struct Plugin {
    registrations: Counters,
    registration_failures: Counters,
    allocations: Counters,
    refusals: Counters,
    allocate_seconds: Histogram,
    preferred_seconds: Histogram,
    xids: Counters,
    ecc_errors: Counters,
    transitions: Counters,
    monitoring_up: Gauge,
    unmonitored: Gauge,
    monitoring_failures: Counter,
    rescans: Counter,
    rescan_errors: Counter,
    reloaded: Gauge,
    generation: Gauge,
    reload_failures: Counter,
    nvml_errors: Counters,
    missed_samples: Counters,
    latest: Arc<Mutex<Latest>>,
}

/// What is not counted but remembered.
#[derive(Debug, Default)]
struct Latest {
    /// The hash of the configuration in use.
    config: Option<String>,
    /// The last Xid, by the GPU's UUID.
    xids: BTreeMap<String, u64>,
}

impl Default for Plugin {
    fn default() -> Self {
        Self {
            registrations: Metric::default(),
            registration_failures: Metric::default(),
            allocations: Metric::default(),
            refusals: Metric::default(),
            allocate_seconds: seconds(),
            preferred_seconds: seconds(),
            xids: Metric::default(),
            ecc_errors: Metric::default(),
            transitions: Metric::default(),
            monitoring_up: Gauge::default(),
            unmonitored: Gauge::default(),
            monitoring_failures: Counter::default(),
            rescans: Counter::default(),
            rescan_errors: Counter::default(),
            reloaded: Gauge::default(),
            generation: Gauge::default(),
            reload_failures: Counter::default(),
            nvml_errors: Metric::default(),
            missed_samples: Metric::default(),
            latest: Arc::default(),
        }
    }
}

impl Plugin {
    /// The kubelet took a resource.
    pub fn registered(&self, resource: &str) {
        one(&self.registrations, &[("resource", resource)]);
    }

    /// The kubelet did not take a resource.
    pub fn registration_failed(&self, resource: &str) {
        one(&self.registration_failures, &[("resource", resource)]);
    }

    /// A container got its devices.
    pub fn allocated(&self, resource: &str, took: Duration) {
        one(&self.allocations, &[("resource", resource)]);
        self.allocate_seconds.observe(took.as_secs_f64());
    }

    /// A container did not get its devices, for one of a few reasons in one word: `unknown`, `unwell`.
    pub fn refused(&self, resource: &str, reason: &'static str, took: Duration) {
        one(
            &self.refusals,
            &[("resource", resource), ("reason", reason)],
        );
        self.allocate_seconds.observe(took.as_secs_f64());
    }

    /// The kubelet was told which devices to take.
    pub fn preferred(&self, took: Duration) {
        self.preferred_seconds.observe(took.as_secs_f64());
    }

    /// Something happened to the GPUs.
    pub fn happened(&self, inventory: &Inventory, event: &HealthEvent) {
        let HealthEvent::Watch(report) = event else {
            return;
        };
        let event = match report {
            WatchReport::Started { .. } => return,
            WatchReport::Failed(error) => {
                self.monitoring_failures.inc();
                self.nvml_error(error.kind);
                return;
            }
            WatchReport::Event(event) => event,
        };
        let gpu = event.gpu.and_then(|index| inventory.gpu(index));
        let gpu = gpu.map_or_else(|| "unknown".to_owned(), Gpu::id);
        match event.kind {
            NvmlEventKind::Xid { xid, .. } => {
                one(&self.xids, &[("gpu", &gpu), ("xid", &xid.to_string())]);
                self.latest().xids.insert(gpu, xid);
            }
            NvmlEventKind::SingleBitEcc => {
                one(&self.ecc_errors, &[("gpu", &gpu), ("kind", "single_bit")]);
            }
            NvmlEventKind::DoubleBitEcc => {
                one(&self.ecc_errors, &[("gpu", &gpu), ("kind", "double_bit")]);
            }
            NvmlEventKind::MigChanged
            | NvmlEventKind::Unavailable
            | NvmlEventKind::RecoveryAction => {}
        }
    }

    /// Health drew its conclusions.
    pub fn reacted(&self, reaction: &Reaction, monitoring: &Monitoring) {
        for (device, _) in &reaction.fell {
            one(&self.transitions, &[("device", device), ("to", "unwell")]);
        }
        for device in &reaction.recovered {
            one(&self.transitions, &[("device", device), ("to", "well")]);
        }
        let (up, unwatched) = match monitoring {
            Monitoring::Off | Monitoring::Down { .. } => (0, 0),
            Monitoring::Up { unwatched } => (1, unwatched.len()),
        };
        self.monitoring_up.set(up);
        self.unmonitored
            .set(i64::try_from(unwatched).unwrap_or(i64::MAX));
    }

    /// The GPUs were read anew; `whole` is whether the driver answered for the node at all.
    pub fn rescanned(&self, whole: bool) {
        self.rescans.inc();
        if !whole {
            self.rescan_errors.inc();
        }
    }

    /// A configuration is in use; `hash` tells it from others.
    pub fn config_loaded(&self, hash: &str) {
        self.generation.inc();
        self.reloaded.set(1);
        self.latest().config = Some(hash.to_owned());
    }

    /// A configuration cannot be used; the last good one stays.
    pub fn config_refused(&self) {
        self.reload_failures.inc();
        self.reloaded.set(0);
    }

    /// The driver did not answer.
    pub fn nvml_error(&self, kind: NvmlErrorKind) {
        one(&self.nvml_errors, &[("kind", word(kind))]);
    }

    /// A GPU was not measured.
    pub(super) fn missed(&self, gpu: &str, reason: &'static str) {
        one(&self.missed_samples, &[("gpu", gpu), ("reason", reason)]);
    }

    /// The last Xid of a GPU since the daemon started, by its UUID.
    pub(super) fn last_xid(&self, gpu: &str) -> Option<u64> {
        self.latest().xids.get(gpu).copied()
    }

    /// The configuration in use, as a metric.
    pub(super) fn config(&self) -> Family {
        let hash = self.latest().config.clone();
        Family {
            name: "gpuc_config_hash",
            help: "The configuration in use.",
            kind: Kind::Gauge,
            series: hash
                .map(|hash| (vec![("hash", hash)], Number::Whole(1)))
                .into_iter()
                .collect(),
        }
    }

    /// Names everything.
    pub(super) fn register(&self, registry: &mut Registry) {
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("gpuc_build", "What runs", Info::new(version));
        for (name, help, counters) in self.by_label() {
            registry.register(name, help, counters.clone());
        }
        for (name, help, counter) in self.plain() {
            registry.register(name, help, counter.clone());
        }
        for (name, help, gauge) in self.gauges() {
            registry.register(name, help, gauge.clone());
        }
        for (name, help, histogram) in self.histograms() {
            registry.register(name, help, histogram.clone());
        }
    }

    #[rustfmt::skip]
    fn by_label(&self) -> [(&'static str, &'static str, &Counters); 9] {
        [
            ("gpuc_registrations", "Registrations with the kubelet", &self.registrations),
            ("gpuc_registration_failures", "Registrations that the kubelet did not take", &self.registration_failures),
            ("gpuc_allocations", "Containers that got their devices", &self.allocations),
            ("gpuc_allocation_refusals", "Containers that did not get their devices", &self.refusals),
            ("gpuc_xid_errors", "Critical errors of GPUs", &self.xids),
            ("gpuc_ecc_errors", "Reports of memory errors", &self.ecc_errors),
            ("gpuc_health_transitions", "How often devices fell ill and got well", &self.transitions),
            ("gpuc_nvml_errors", "Questions that the driver did not answer", &self.nvml_errors),
            ("gpuc_missed_samples", "Times that a GPU was not measured", &self.missed_samples),
        ]
    }

    #[rustfmt::skip]
    fn plain(&self) -> [(&'static str, &'static str, &Counter); 4] {
        [
            ("gpuc_monitoring_failures", "Times that waiting for events failed", &self.monitoring_failures),
            ("gpuc_rescans", "Times that the GPUs were read", &self.rescans),
            ("gpuc_rescan_errors", "Times that the driver did not answer for the node", &self.rescan_errors),
            ("gpuc_config_reload_failures", "Configurations that cannot be used", &self.reload_failures),
        ]
    }

    #[rustfmt::skip]
    fn gauges(&self) -> [(&'static str, &'static str, &Gauge); 4] {
        [
            ("gpuc_config_last_reload_successful", "Whether the newest configuration is in use", &self.reloaded),
            ("gpuc_config_generation", "How many configurations were in use since the start", &self.generation),
            ("gpuc_monitoring_up", "Whether the driver's events come in", &self.monitoring_up),
            ("gpuc_unmonitored_gpus", "GPUs whose events do not come in", &self.unmonitored),
        ]
    }

    #[rustfmt::skip]
    fn histograms(&self) -> [(&'static str, &'static str, &Histogram); 2] {
        let preferred = "gpuc_preferred_allocation_duration_seconds";
        [
            ("gpuc_allocate_duration_seconds", "How long Allocate took", &self.allocate_seconds),
            (preferred, "How long GetPreferredAllocation took", &self.preferred_seconds),
        ]
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn one(counters: &Counters, labels: &[(&'static str, &str)]) {
    let labels = labels.iter().map(|(name, value)| (*name, (*value).into()));
    counters.get_or_create(&labels.collect()).inc();
}

/// From 50 µs, where most answers are, to a second, where the kubelet is kept waiting.
fn seconds() -> Histogram {
    Histogram::new([
        0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.1, 1.0,
    ])
}

fn word(kind: NvmlErrorKind) -> &'static str {
    match kind {
        NvmlErrorKind::NoLibrary => "no_library",
        NvmlErrorKind::NoDriver => "no_driver",
        NvmlErrorKind::GpuLost => "gpu_lost",
        NvmlErrorKind::NotSupported => "not_supported",
        NvmlErrorKind::NoPermission => "no_permission",
        NvmlErrorKind::InUse => "in_use",
        NvmlErrorKind::Other => "other",
    }
}
