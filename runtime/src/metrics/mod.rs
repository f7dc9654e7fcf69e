//! The HTTP endpoints: metrics of the daemon and the GPUs, liveness, and readiness.

mod counters;
mod family;
mod gpu;
pub mod http;
mod pods;
pub mod sampler;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::device::Gpu;
use crate::nvml::Nvml;
use crate::state::State;
pub use counters::PluginMetrics;
use family::{Families, Family, MetricKind, Number};
use gpu::GpuMetricInputs;
use pods::PodCache;
pub use pods::{POD_CACHE_TIME, PodLister, pod_lister};
pub use sampler::{CACHE_TIME, SAMPLE_TIMEOUT};
use sampler::{MissingSample, Sampler, Samples};

pub use crate::kubelet::pod_resources::PodDevices;

/// A boxed future.
pub type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The inputs of the metrics.
pub struct MetricSources {
    /// The state of the node.
    pub state: watch::Receiver<Arc<State>>,
    /// The driver, to measure GPUs at a scrape.
    pub nvml: Arc<dyn Nvml>,
    /// Returns the devices of pods. It is called by a scrape, at most once per [`POD_CACHE_TIME`] and with a timeout
    /// of a second.
    pub pods: PodLister,
    /// The node's name.
    pub hostname: String,
}

/// All metrics.
pub struct Exporter {
    state: watch::Receiver<Arc<State>>,
    hostname: String,
    pods: PodCache,
    plugin: PluginMetrics,
    sampler: Sampler,
}

/// A metrics response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsResponse {
    /// The media type.
    pub content_type: &'static str,
    /// The body.
    pub text: String,
}

impl Exporter {
    /// Creates the metrics of these inputs and counters. Must be called on a tokio runtime, for the sampler task.
    /// `limit` is its timeout ([`SAMPLE_TIMEOUT`]), and `keep` is how long a result is reused ([`CACHE_TIME`]).
    pub fn start(
        sources: MetricSources,
        plugin: PluginMetrics,
        limit: Duration,
        keep: Duration,
    ) -> Self {
        Self {
            state: sources.state,
            hostname: sources.hostname,
            pods: PodCache::new(sources.pods, plugin.clone()),
            plugin,
            sampler: Sampler::start(sources.nvml, limit, keep),
        }
    }

    /// Returns the current metrics in the format that an `Accept` header requests. It always succeeds: GPUs that cannot
    /// be measured in time have no values.
    pub async fn scrape(&self, accept: Option<&str>) -> MetricsResponse {
        let state = Arc::clone(&self.state.borrow());
        let (round, pods) = tokio::join!(self.measure(&state), self.pods.devices());
        let mut families = vec![
            self.plugin.config_family(),
            device_counts(&state),
            expected_counts(&state),
            gpu::replica_counts(&state.inventory, &pods),
        ];
        if let Some(round) = round {
            families.extend(gpu::families(&GpuMetricInputs {
                inventory: &state.inventory,
                samples: &round,
                pods: &pods,
                hostname: &self.hostname,
                last_xid: &|gpu| self.plugin.last_xid(gpu),
            }));
        }
        let mut registry = Registry::default();
        self.plugin.register(&mut registry);
        registry.register_collector(Box::new(Families(families)));
        let mut text = String::new();
        encode(&mut text, &registry).expect("writing to a string does not fail");
        if text::wants_open_metrics(accept) {
            let content_type = text::OPEN_METRICS;
            return MetricsResponse { content_type, text };
        }
        MetricsResponse {
            content_type: text::PROMETHEUS,
            text: text::to_prometheus(&text),
        }
    }

    /// Measures the GPUs that responded to the last discovery, if the configuration enables it.
    async fn measure(&self, state: &State) -> Option<Arc<Samples>> {
        if !state.config.metrics.gpus {
            return None;
        }
        let responding = state.inventory.gpus.iter();
        let known = responding.filter(|gpu| matches!(gpu, Gpu::Responding { .. }));
        let known = known.map(Gpu::index).collect();
        let (round, new) = self.sampler.sample_all(known).await;
        if new {
            self.count_missed(state, &round);
        }
        Some(round)
    }

    fn count_missed(&self, state: &State, round: &Samples) {
        for (index, result) in round {
            let Some(gpu) = state.inventory.gpu(*index) else {
                continue;
            };
            match result {
                Ok(_) => {}
                Err(MissingSample::TimedOut) => self.plugin.count_missed_sample(&gpu.id(), "late"),
                Err(MissingSample::Error(error)) => {
                    self.plugin.count_missed_sample(&gpu.id(), "error");
                    self.plugin.count_nvml_error(error.kind);
                }
            }
        }
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

/// Returns the devices that a node with all of its GPUs advertises, by resource.
fn expected_counts(state: &State) -> Family {
    let resources = state.config.resources.iter();
    let series = resources.map(|(resource, count)| {
        let labels = vec![("resource", resource.clone())];
        (labels, Number::Integer(u64::from(*count)))
    });
    Family {
        name: "gpuc_expected_devices",
        help: "Devices that a node with all of its GPUs advertises, by resource.",
        kind: MetricKind::Gauge,
        series: series.collect(),
    }
}

/// Returns the devices advertised to the kubelet, by resource and health.
fn device_counts(state: &State) -> Family {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let advertised = state.advertised_resources.iter();
    let advertised = advertised.map(|resource| &resource.resource);
    // A resource that is expected and not advertised has 0 devices, so that alerts have a value.
    for resource in advertised.chain(state.config.resources.keys()) {
        for health in ["healthy", "unhealthy"] {
            counts.entry((resource, health)).or_default();
        }
    }
    for advertised_resource in &state.advertised_resources {
        for device in &advertised_resource.devices {
            let health = match state.unhealthy_reason(device) {
                None => "healthy",
                Some(_) => "unhealthy",
            };
            *counts
                .entry((&advertised_resource.resource, health))
                .or_default() += 1;
        }
    }
    let series = counts.into_iter().map(|((resource, health), count)| {
        let labels = vec![
            ("resource", resource.to_owned()),
            ("health", health.to_owned()),
        ];
        (labels, Number::Integer(count))
    });
    Family {
        name: "gpuc_devices",
        help: "Devices advertised to the kubelet, by resource and health.",
        kind: MetricKind::Gauge,
        series: series.collect(),
    }
}
