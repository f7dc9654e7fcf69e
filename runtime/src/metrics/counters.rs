//! The metrics of the daemon itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Metric;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::family::{Family, Labels, MetricKind, Number};
use crate::allocate::AllocationError;
use crate::device::{AdvertisedResource, Gpu, Inventory, KubeletDevice};
use crate::health::{HealthEvent, Monitoring, Reaction, WatchReport};
use crate::nvml::{NvmlErrorKind, NvmlEventKind};
use crate::state::State;

/// The value of the label `reason` for GPUs that are unmonitored because of an error.
const ERROR: &str = "error";

/// The value of the label `reason` for GPUs without driver events.
const NOT_SUPPORTED: &str = "not_supported";

type Counters = Metric<Labels, Counter>;

/// The counters of the daemon. Clones share the counters.
#[derive(Clone, Debug)]
pub struct PluginMetrics {
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
    unmonitored: Metric<Labels, Gauge>,
    monitoring_failures: Counter,
    rescans: Counter,
    rescan_errors: Counter,
    reloaded: Gauge,
    pending: Gauge,
    generation: Gauge,
    unknown_keys: Gauge,
    reload_failures: Counter,
    nvml_errors: Counters,
    missed_samples: Counters,
    pod_query_failures: Counter,
    latest: Arc<Mutex<Latest>>,
}

/// Values that are not counters.
#[derive(Debug, Default)]
struct Latest {
    /// The hash of the active configuration.
    config: Option<String>,
    /// The last Xid, by the GPU's UUID.
    xids: BTreeMap<String, u64>,
}

impl Default for PluginMetrics {
    fn default() -> Self {
        Self {
            registrations: Metric::default(),
            registration_failures: Metric::default(),
            allocations: Metric::default(),
            refusals: Metric::default(),
            allocate_seconds: duration_histogram(),
            preferred_seconds: duration_histogram(),
            xids: Metric::default(),
            ecc_errors: Metric::default(),
            transitions: Metric::default(),
            monitoring_up: Gauge::default(),
            unmonitored: unmonitored_gpus(),
            monitoring_failures: Counter::default(),
            rescans: Counter::default(),
            rescan_errors: Counter::default(),
            reloaded: Gauge::default(),
            pending: Gauge::default(),
            generation: Gauge::default(),
            unknown_keys: Gauge::default(),
            reload_failures: Counter::default(),
            nvml_errors: nvml_error_counters(),
            missed_samples: Metric::default(),
            pod_query_failures: Counter::default(),
            latest: Arc::default(),
        }
    }
}

impl PluginMetrics {
    /// Creates the counters of these devices with the value 0: for Prometheus, a counter that appears with its first
    /// event has not increased.
    pub fn initialize(&self, state: &State) {
        let advertised = state.advertised_resources.iter();
        let advertised = advertised.map(|resource| &resource.resource);
        for resource in advertised.chain(state.config.resources.keys()) {
            let by_resource = [
                &self.registrations,
                &self.registration_failures,
                &self.allocations,
            ];
            for counters in by_resource {
                add(counters, &[("resource", resource)], 0);
            }
            for reason in AllocationError::REASONS {
                add(
                    &self.refusals,
                    &[("resource", resource), ("reason", reason)],
                    0,
                );
            }
        }
        for gpu in state.inventory.gpus.iter().map(Gpu::id) {
            for kind in ["single_bit", "double_bit"] {
                add(&self.ecc_errors, &[("gpu", &gpu), ("kind", kind)], 0);
            }
            for reason in ["late", "error"] {
                add(
                    &self.missed_samples,
                    &[("gpu", &gpu), ("reason", reason)],
                    0,
                );
            }
        }
        for AdvertisedResource { devices, .. } in &state.advertised_resources {
            for KubeletDevice {
                physical_device, ..
            } in devices
            {
                for to in ["unhealthy", "healthy"] {
                    add(
                        &self.transitions,
                        &[("device", physical_device), ("to", to)],
                        0,
                    );
                }
            }
        }
    }

    /// Counts a registration with the kubelet.
    pub fn count_registration(&self, resource: &str) {
        increment(&self.registrations, &[("resource", resource)]);
    }

    /// Counts a failed registration.
    pub fn count_registration_failure(&self, resource: &str) {
        increment(&self.registration_failures, &[("resource", resource)]);
    }

    /// Counts an allocation.
    pub fn record_allocation(&self, resource: &str, took: Duration) {
        increment(&self.allocations, &[("resource", resource)]);
        self.allocate_seconds.observe(took.as_secs_f64());
    }

    /// Counts a refused allocation, with the value of the `reason` label: `unknown`, `unhealthy`.
    pub fn record_refusal(&self, resource: &str, reason: &'static str, took: Duration) {
        increment(
            &self.refusals,
            &[("resource", resource), ("reason", reason)],
        );
        self.allocate_seconds.observe(took.as_secs_f64());
    }

    /// Counts a preferred allocation.
    pub fn record_preferred_allocation(&self, took: Duration) {
        self.preferred_seconds.observe(took.as_secs_f64());
    }

    /// Counts a health event that occurred `count` times.
    pub fn record_health_event(&self, inventory: &Inventory, event: &HealthEvent, count: u64) {
        let HealthEvent::Watch(report) = event else {
            return;
        };
        let event = match report {
            WatchReport::Started { .. } | WatchReport::Dropped => return,
            WatchReport::Failed(error) => {
                self.monitoring_failures.inc();
                self.count_nvml_error(error.kind);
                return;
            }
            WatchReport::Event(event) => event,
        };
        let gpu = event.gpu.and_then(|index| inventory.gpu(index));
        let gpu = gpu.map_or_else(|| "unknown".to_owned(), Gpu::id);
        match event.kind {
            NvmlEventKind::Xid { xid, .. } => {
                add(
                    &self.xids,
                    &[("gpu", &gpu), ("xid", &xid.to_string())],
                    count,
                );
                self.lock_latest().xids.insert(gpu, xid);
            }
            NvmlEventKind::SingleBitEcc => {
                add(
                    &self.ecc_errors,
                    &[("gpu", &gpu), ("kind", "single_bit")],
                    count,
                );
            }
            NvmlEventKind::DoubleBitEcc => {
                add(
                    &self.ecc_errors,
                    &[("gpu", &gpu), ("kind", "double_bit")],
                    count,
                );
            }
            NvmlEventKind::MigChanged
            | NvmlEventKind::Unavailable
            | NvmlEventKind::RecoveryAction => {}
        }
    }

    /// Counts the changes of device health.
    pub fn count_transitions(&self, reaction: &Reaction) {
        for (device, _) in &reaction.became_unhealthy {
            increment(
                &self.transitions,
                &[("device", device), ("to", "unhealthy")],
            );
        }
        for device in &reaction.recovered {
            increment(&self.transitions, &[("device", device), ("to", "healthy")]);
        }
    }

    /// Sets the state of the driver event monitoring.
    pub fn set_monitoring(&self, monitoring: &Monitoring) {
        let (up, unwatched) = match monitoring {
            Monitoring::Off | Monitoring::Down { .. } => (0, 0),
            Monitoring::Up { unwatched } => (1, unwatched.len()),
        };
        self.monitoring_up.set(up);
        let failed = monitoring.failed_gpus().count();
        for (reason, count) in [(ERROR, failed), (NOT_SUPPORTED, unwatched - failed)] {
            self.unmonitored
                .get_or_create(&vec![("reason", reason.to_owned())])
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Counts a GPU discovery; `succeeded` is whether it succeeded.
    pub fn count_rescan(&self, succeeded: bool) {
        self.rescans.inc();
        if !succeeded {
            self.rescan_errors.inc();
        }
    }

    /// Records the active configuration by its hash.
    pub fn set_config_hash(&self, hash: &str) {
        self.generation.inc();
        self.reloaded.set(1);
        self.lock_latest().config = Some(hash.to_owned());
    }

    /// Records how many keys of the active configuration are unknown.
    pub fn set_unknown_keys(&self, count: usize) {
        self.unknown_keys
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records whether a valid configuration waits for a restart of the pod. The reload was successful in both cases.
    pub fn set_config_pending(&self, is_pending: bool) {
        self.reloaded.set(1);
        self.pending.set(i64::from(is_pending));
    }

    /// Counts a rejected configuration.
    pub fn count_rejected_config(&self) {
        self.reload_failures.inc();
        self.reloaded.set(0);
    }

    /// Counts a failed driver call.
    pub fn count_nvml_error(&self, kind: NvmlErrorKind) {
        increment(&self.nvml_errors, &[("kind", error_kind_label(kind))]);
    }

    /// Counts a failed measurement of a GPU.
    pub(super) fn count_missed_sample(&self, gpu: &str, reason: &'static str) {
        increment(&self.missed_samples, &[("gpu", gpu), ("reason", reason)]);
    }

    /// Counts a query for the devices of pods that failed or timed out.
    pub(super) fn count_pod_query_failure(&self) {
        self.pod_query_failures.inc();
    }

    /// Returns the last Xid of a GPU since the daemon started, by its UUID.
    pub(super) fn last_xid(&self, gpu: &str) -> Option<u64> {
        self.lock_latest().xids.get(gpu).copied()
    }

    /// Returns the active configuration as a metric.
    pub(super) fn config_family(&self) -> Family {
        let hash = self.lock_latest().config.clone();
        Family {
            name: "gpuc_config_hash",
            help: "Hash of the active configuration.",
            kind: MetricKind::Gauge,
            series: hash
                .map(|hash| (vec![("hash", hash)], Number::Integer(1)))
                .into_iter()
                .collect(),
        }
    }

    /// Registers all metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("gpuc_build", "Build information", Info::new(version));
        for (name, help, counters) in self.labelled_counters() {
            registry.register(name, help, counters.clone());
        }
        for (name, help, counter) in self.plain_counters() {
            registry.register(name, help, counter.clone());
        }
        let help = "GPUs whose driver events are not monitored";
        registry.register("gpuc_unmonitored_gpus", help, self.unmonitored.clone());
        for (name, help, gauge) in self.gauges() {
            registry.register(name, help, gauge.clone());
        }
        for (name, help, histogram) in self.histograms() {
            registry.register(name, help, histogram.clone());
        }
    }

    #[rustfmt::skip]
    fn labelled_counters(&self) -> [(&'static str, &'static str, &Counters); 9] {
        [
            ("gpuc_registrations", "Registrations with the kubelet", &self.registrations),
            ("gpuc_registration_failures", "Registrations that the kubelet did not accept or did not use", &self.registration_failures),
            ("gpuc_allocations", "Containers that devices were allocated to", &self.allocations),
            ("gpuc_allocation_refusals", "Allocation requests that were refused", &self.refusals),
            ("gpuc_xid_errors", "Errors that the driver reported with an Xid, harmless ones included", &self.xids),
            ("gpuc_ecc_errors", "Reported memory errors (ECC)", &self.ecc_errors),
            ("gpuc_health_transitions", "Changes of device health", &self.transitions),
            ("gpuc_nvml_errors", "Errors of the driver in discoveries, event waits and measurements, and calls without an answer", &self.nvml_errors),
            ("gpuc_missed_samples", "GPU measurements that failed or timed out", &self.missed_samples),
        ]
    }

    #[rustfmt::skip]
    fn plain_counters(&self) -> [(&'static str, &'static str, &Counter); 5] {
        [
            ("gpuc_monitoring_failures", "Failures of the driver event monitoring", &self.monitoring_failures),
            ("gpuc_rescans", "GPU discovery runs", &self.rescans),
            ("gpuc_rescan_errors", "GPU discovery runs that failed", &self.rescan_errors),
            ("gpuc_config_reload_failures", "Rejected configuration reloads", &self.reload_failures),
            ("gpuc_pod_query_failures", "Queries for the devices of pods that failed", &self.pod_query_failures),
        ]
    }

    #[rustfmt::skip]
    fn gauges(&self) -> [(&'static str, &'static str, &Gauge); 5] {
        [
            ("gpuc_config_last_reload_successful", "Whether the last configuration reload succeeded", &self.reloaded),
            ("gpuc_config_restart_pending", "Whether the configuration file has changes that take effect when the pod restarts", &self.pending),
            ("gpuc_config_generation", "Number of different configurations that were active since the start", &self.generation),
            ("gpuc_config_unknown_keys", "Keys of the active configuration that are unknown", &self.unknown_keys),
            ("gpuc_monitoring_up", "Whether driver events are monitored", &self.monitoring_up),
        ]
    }

    #[rustfmt::skip]
    fn histograms(&self) -> [(&'static str, &'static str, &Histogram); 2] {
        let preferred = "gpuc_preferred_allocation_duration_seconds";
        [
            ("gpuc_allocate_duration_seconds", "Duration of Allocate calls", &self.allocate_seconds),
            (preferred, "Duration of GetPreferredAllocation calls", &self.preferred_seconds),
        ]
    }

    fn lock_latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gauges of unmonitored GPUs, by reason. They exist from the start, so that alerts have a value.
fn unmonitored_gpus() -> Metric<Labels, Gauge> {
    let gauges = Metric::<Labels, Gauge>::default();
    for reason in [ERROR, NOT_SUPPORTED] {
        drop(gauges.get_or_create(&vec![("reason", reason.to_owned())]));
    }
    gauges
}

/// The counters of failed driver calls. They exist from the start, like those of [`PluginMetrics::initialize`].
fn nvml_error_counters() -> Counters {
    let counters = Counters::default();
    for kind in NvmlErrorKind::ALL {
        add(&counters, &[("kind", error_kind_label(kind))], 0);
    }
    counters
}

fn increment(counters: &Counters, labels: &[(&'static str, &str)]) {
    add(counters, labels, 1);
}

fn add(counters: &Counters, labels: &[(&'static str, &str)], count: u64) {
    let labels = labels.iter().map(|(name, value)| (*name, (*value).into()));
    counters.get_or_create(&labels.collect()).inc_by(count);
}

/// Buckets from 50 µs, the typical duration, to one second, which delays the kubelet.
fn duration_histogram() -> Histogram {
    Histogram::new([
        0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.1, 1.0,
    ])
}

fn error_kind_label(kind: NvmlErrorKind) -> &'static str {
    match kind {
        NvmlErrorKind::NoLibrary => "no_library",
        NvmlErrorKind::Unsupported => "unsupported",
        NvmlErrorKind::NoDriver => "no_driver",
        NvmlErrorKind::GpuLost => "gpu_lost",
        NvmlErrorKind::NotSupported => "not_supported",
        NvmlErrorKind::NoPermission => "no_permission",
        NvmlErrorKind::InUse => "in_use",
        NvmlErrorKind::TimedOut => "timed_out",
        NvmlErrorKind::Other => "other",
    }
}
