//! A metrics exporter with a fake driver that can hang.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use gpuc_runtime::device::Inventory;
use gpuc_runtime::metrics::{Exporter, MetricSources, PluginMetrics, PodDevices};
use gpuc_runtime::nvml::{
    Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, NvmlErrorKind, Sample, Watch,
};
use gpuc_runtime::state::State;
use gpuc_schema::node_config::NodeSharing;
use tokio::sync::watch;

use crate::exposition::{Exposition, parse};
use crate::machine::{lost_gpu_error, mig_device_uuid, nvml_error, state, uuid};

/// A driver that reports samples. Calls for the GPUs in `hangs_at` hang.
#[derive(Default)]
pub(crate) struct FakeMeter {
    pub(super) hangs_at: Mutex<Vec<u32>>,
    pub(super) released: Condvar,
    pub(super) slices: bool,
    /// Whether samples have the values that only some alerts use.
    pub(super) has_all_sensors: bool,
    pub(super) call_count: AtomicUsize,
}

impl FakeMeter {
    pub(super) fn hang(&self, gpus: &[u32]) {
        *self.hangs_at.lock().expect("no test panicked") = gpus.to_vec();
        self.released.notify_all();
    }
}

fn unexpected_call() -> NvmlError {
    nvml_error(NvmlErrorKind::Other, "not queried")
}

impl Nvml for FakeMeter {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        Err(unexpected_call())
    }
    fn gpu_count(&self) -> Result<u32, NvmlError> {
        Err(unexpected_call())
    }
    fn gpu(&self, _: u32) -> Result<GpuInfo, NvmlError> {
        Err(unexpected_call())
    }
    fn link(&self, _: u32, _: u32) -> Result<Link, NvmlError> {
        Err(unexpected_call())
    }
    fn condition(&self, _: u32) -> Result<Condition, NvmlError> {
        Err(unexpected_call())
    }
    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        Err(unexpected_call())
    }
    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.call_count.fetch_add(1, Ordering::SeqCst);
        let hangs_at = self.hangs_at.lock().expect("no test panicked");
        let waited = self
            .released
            .wait_while(hangs_at, |hangs_at| hangs_at.contains(&index));
        drop(waited.expect("no test panicked"));
        if index == 7 {
            return Err(lost_gpu_error());
        }
        let slices = (7..14).map(|gi| (mig_device_uuid(index, gi), 100 * u64::from(gi), 9_000));
        let has_all = self.has_all_sensors;
        Ok(Sample {
            sm_clock: has_all.then_some(1_980),
            pcie_replays: has_all.then_some(3),
            double_bit_errors: has_all.then_some(0),
            uncorrectable_remapped_rows: has_all.then_some(0),
            temperature: Some(40 + index),
            power: Some(100.5),
            energy: Some(9_007_199_254_740_993),
            utilization: Some(0),
            memory_used: Some(1_000),
            memory_free: Some(80_000),
            remap_failure: Some(false),
            slices: slices.filter(|_| self.slices).collect(),
            ..Sample::default()
        })
    }
}

/// An exporter with its fake driver and the plugin's metrics.
pub(super) struct TestExporter {
    pub(super) exporter: Exporter,
    pub(super) plugin: PluginMetrics,
    pub(super) meter: Arc<FakeMeter>,
    _state: watch::Sender<Arc<State>>,
}

pub(crate) fn exporter(
    state: State,
    pods: Vec<PodDevices>,
    meter: Arc<FakeMeter>,
    plugin: PluginMetrics,
) -> (Exporter, watch::Sender<Arc<State>>) {
    let (sender, receiver) = watch::channel(Arc::new(state));
    let sources = MetricSources {
        state: receiver,
        nvml: meter,
        pods: Box::new(move || {
            let pods = pods.clone();
            Box::pin(async move { Some(pods) })
        }),
        hostname: "node \"a\"\\\n1".into(),
    };
    let (limit, keep) = (Duration::from_secs(1), Duration::from_millis(300));
    (Exporter::start(sources, plugin, limit, keep), sender)
}

impl TestExporter {
    pub(super) fn new(inventory: &Inventory, sharing: &NodeSharing, pods: Vec<PodDevices>) -> Self {
        let mut unhealthy = BTreeMap::new();
        unhealthy.insert(uuid(1), "Xid 79".to_owned());
        let meter = Arc::new(FakeMeter {
            slices: matches!(sharing, NodeSharing::Mig { .. }),
            ..FakeMeter::default()
        });
        let plugin = PluginMetrics::default();
        let state = state(inventory, sharing, unhealthy);
        let (exporter, state) = exporter(state, pods, Arc::clone(&meter), plugin.clone());
        Self {
            exporter,
            plugin,
            meter,
            _state: state,
        }
    }

    pub(super) async fn read(&self) -> Exposition {
        let page = self.exporter.scrape(None).await;
        assert_eq!(
            page.content_type,
            "text/plain; version=0.0.4; charset=utf-8"
        );
        parse(&page.text, false)
    }
}
