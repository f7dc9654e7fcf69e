//! What can be asked for over HTTP: numbers of the daemon and of the GPUs, whether it lives, and whether it serves.

mod family;
mod gpu;
pub mod http;
mod plugin;
mod sampler;
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
use tokio::time::timeout;

use crate::device::Gpu;
use crate::nvml::Nvml;
use crate::state::State;
use family::{Families, Family, Kind, Number};
use gpu::Scene;
pub use plugin::Plugin;
pub use sampler::{KEEP, LIMIT};
use sampler::{Missing, Round, Sampler};

/// How long the kubelet may take to say which pods have which devices.
const PODS: Duration = Duration::from_secs(1);

/// The devices of a container under one resource, as the kubelet's `PodResources` API lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodDevices {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// What the kubelet calls the devices: UUIDs, of replicas with `::` and a number.
    pub device_ids: Vec<String>,
}

/// An answer that comes later.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Where the numbers come from.
pub struct Sources {
    /// What is known of the node.
    pub state: watch::Receiver<Arc<State>>,
    /// The driver, to measure GPUs at a scrape.
    pub nvml: Arc<dyn Nvml>,
    /// Which pods have which devices; `None` where the kubelet does not say. It is asked at each scrape, and waited for
    /// a second at most.
    pub pods: Box<dyn Fn() -> Later<Option<Vec<PodDevices>>> + Send + Sync>,
    /// The node's name.
    pub hostname: String,
}

/// All metrics.
pub struct Exporter {
    sources: Sources,
    plugin: Plugin,
    sampler: Sampler,
}

/// A page of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its media type.
    pub content_type: &'static str,
    /// Its text.
    pub text: String,
}

impl Exporter {
    /// Metrics of these sources and counters. To be called in a tokio runtime, for the task that measures; `limit` is
    /// how long it may take ([`LIMIT`]), `keep` how long what it found is answered again ([`KEEP`]).
    pub fn start(sources: Sources, plugin: Plugin, limit: Duration, keep: Duration) -> Self {
        let sampler = Sampler::start(Arc::clone(&sources.nvml), limit, keep);
        Self {
            sources,
            plugin,
            sampler,
        }
    }

    /// The metrics of this moment, in the format that an `Accept` header asks for. It is always answered: GPUs that
    /// cannot be measured in time have no numbers.
    pub async fn scrape(&self, accept: Option<&str>) -> Page {
        let state = Arc::clone(&self.sources.state.borrow());
        let (round, pods) = tokio::join!(self.measure(&state), self.pods());
        let mut families = vec![
            self.plugin.config(),
            devices(&state),
            gpu::shares(&state.inventory, &pods),
        ];
        if let Some(round) = round {
            families.extend(gpu::families(&Scene {
                inventory: &state.inventory,
                round: &round,
                pods: &pods,
                hostname: &self.sources.hostname,
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
            return Page { content_type, text };
        }
        Page {
            content_type: text::PROMETHEUS,
            text: text::prometheus(&text),
        }
    }

    /// Numbers of the GPUs that answered when they were last read, where they are wanted.
    async fn measure(&self, state: &State) -> Option<Arc<Round>> {
        if !state.config.metrics.gpus {
            return None;
        }
        let known = state.inventory.gpus.iter();
        let known = known.filter(|gpu| matches!(gpu, Gpu::Known { .. }));
        let known = known.map(Gpu::index).collect();
        let (round, new) = self.sampler.round(known).await;
        if new {
            self.count_missed(state, &round);
        }
        Some(round)
    }

    async fn pods(&self) -> Vec<PodDevices> {
        let pods = timeout(PODS, (self.sources.pods)()).await;
        pods.ok().flatten().unwrap_or_default()
    }

    fn count_missed(&self, state: &State, round: &Round) {
        for (index, answer) in round {
            let Some(gpu) = state.inventory.gpu(*index) else {
                continue;
            };
            match answer {
                Ok(_) => {}
                Err(Missing::Late) => self.plugin.missed(&gpu.id(), "late"),
                Err(Missing::Error(error)) => {
                    self.plugin.missed(&gpu.id(), "error");
                    self.plugin.nvml_error(error.kind);
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

/// What the kubelet is offered, by resource and health.
fn devices(state: &State) -> Family {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for offer in &state.offers {
        for health in ["healthy", "unhealthy"] {
            counts.entry((&offer.resource, health)).or_default();
        }
        for share in &offer.shares {
            let health = match state.trouble(share) {
                None => "healthy",
                Some(_) => "unhealthy",
            };
            *counts.entry((&offer.resource, health)).or_default() += 1;
        }
    }
    let series = counts.into_iter().map(|((resource, health), count)| {
        let labels = vec![
            ("resource", resource.to_owned()),
            ("health", health.to_owned()),
        ];
        (labels, Number::Whole(count))
    });
    Family {
        name: "gpuc_devices",
        help: "What the kubelet is offered.",
        kind: Kind::Gauge,
        series: series.collect(),
    }
}
