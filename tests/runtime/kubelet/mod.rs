//! The plugin's behavior towards the kubelet, including failures of both.

mod authority;
mod calls;
mod lists;
mod pods;
mod restarts;
mod sockets;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpuc_runtime::allocate::ContainerAllocation;
use gpuc_runtime::device::{AdvertisedResource, Gpu, Inventory, KubeletDevice, Topology};
use gpuc_runtime::host::HostFiles;
use gpuc_runtime::nvml::{DriverInfo, NvmlError, NvmlErrorKind};
use gpuc_runtime::plugin::{AllocationHandler, AllocationRejection, PluginEvent, Plugins, Setup};
use gpuc_runtime::state::State;
use tokio::sync::{mpsc, watch};

use crate::simulated_kubelet::{Kubelet, TIMEOUT};

const GPU: &str = "nvidia.com/gpu";
const MIG_DEVICE: &str = "nvidia.com/mig-1g.10gb";

/// A node with the daemon's plugins and a simulated kubelet.
struct Node {
    folder: PathBuf,
    kubelet: Kubelet,
    state: watch::Sender<Arc<State>>,
    plugins: Plugins,
    events: mpsc::UnboundedReceiver<PluginEvent>,
    parent: tempfile::TempDir,
}

impl Node {
    /// Creates a node with eight GPUs on two NUMA nodes, and the folder for plugins. The kubelet is not started.
    fn new() -> Self {
        let node = Self::without_folder();
        std::fs::create_dir(&node.folder).unwrap();
        node
    }

    /// Creates a node whose kubelet has never run.
    fn without_folder() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("device-plugins");
        let (state, receiver) = watch::channel(Arc::new(state(vec![advertised_resource(GPU, 8)])));
        let (sender, events) = mpsc::unbounded_channel();
        let plugins = Plugins::start(Setup {
            folder: folder.clone(),
            state: receiver,
            handler: Arc::new(FakeHandler),
            events: sender,
        });
        Self {
            kubelet: Kubelet::new(&folder),
            folder,
            state,
            plugins,
            events,
            parent,
        }
    }

    /// Creates a node with a running kubelet and a registered plugin.
    async fn running() -> Self {
        let mut node = Self::new();
        node.kubelet.start().await;
        node.kubelet.wait_for_registration(GPU).await;
        node
    }

    fn modify_state(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(|state| change(Arc::make_mut(state)));
    }

    fn socket(&self, resource: &str) -> PathBuf {
        self.folder.join(gpuc_runtime::plugin::file_name(resource))
    }

    /// Removes the received events. Returns the number of those that match.
    fn count_events(&mut self, mut matches: impl FnMut(&PluginEvent) -> bool) -> usize {
        let mut count = 0;
        while let Ok(event) = self.events.try_recv() {
            count += usize::from(matches(&event));
        }
        count
    }

    /// Waits for an event that matches.
    async fn wait_for_event(
        &mut self,
        mut matches: impl FnMut(&PluginEvent) -> bool,
    ) -> PluginEvent {
        let event = async {
            loop {
                let event = self.events.recv().await.expect("the plugins run");
                if matches(&event) {
                    return event;
                }
            }
        };
        let event = tokio::time::timeout(TIMEOUT, event).await;
        event.expect("the event is received")
    }
}

fn advertised_resource(resource: &str, count: u32) -> AdvertisedResource {
    let share = |index: u32| KubeletDevice {
        id: format!("{}-{index}", resource.rsplit('/').next().unwrap()),
        physical_device: format!("GPU-{index}"),
        gpu: index,
        numa: Some(index / 4),
    };
    AdvertisedResource {
        resource: resource.to_owned(),
        replicas: 1,
        devices: (0..count).map(share).collect(),
    }
}

fn state(advertised_resources: Vec<AdvertisedResource>) -> State {
    let config = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "train",
        "expected": {"model": "h100-80gb", "count": 8},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {"nvidia.com/gpu": 8}
    }"#;
    let error = NvmlError {
        kind: NvmlErrorKind::Other,
        message: "not called in this test".to_owned(),
    };
    let unresponsive = |index| Gpu::Unresponsive {
        index,
        last_info: None,
        error: error.clone(),
    };
    let inventory = Inventory {
        driver: DriverInfo {
            version: "570.86.15".to_owned(),
            cuda: (12, 8),
        },
        gpus: (0..8).map(unresponsive).collect(),
        topology: Topology::default(),
    };
    State {
        config: Arc::new(gpuc_runtime::config::parse(config).unwrap()),
        inventory: Arc::new(inventory),
        files: Arc::new(HostFiles::default()),
        advertised_resources,
        unhealthy: BTreeMap::new(),
    }
}

/// Allocates healthy devices, and prefers the first ones.
struct FakeHandler;

impl AllocationHandler for FakeHandler {
    fn allocate(
        &self,
        state: &State,
        resource: &AdvertisedResource,
        ids: &[String],
    ) -> Result<ContainerAllocation, AllocationRejection> {
        let unknown: Vec<_> = ids
            .iter()
            .filter(|id| resource.device(id).is_none())
            .collect();
        if !unknown.is_empty() {
            return Err(AllocationRejection::Invalid(format!(
                "unknown devices: {unknown:?}"
            )));
        }
        let mut shares = ids.iter().filter_map(|id| resource.device(id));
        if let Some(share) = shares.find(|share| state.unhealthy_reason(share).is_some()) {
            return Err(AllocationRejection::Unusable(format!(
                "{} is unhealthy",
                share.id
            )));
        }
        Ok(ContainerAllocation {
            envs: BTreeMap::from([("NVIDIA_VISIBLE_DEVICES".to_owned(), ids.join(","))]),
            ..ContainerAllocation::default()
        })
    }

    fn preferred_devices(
        &self,
        _: &State,
        _: &AdvertisedResource,
        available: &[String],
        _: &[String],
        size: usize,
    ) -> Vec<String> {
        available.iter().take(size).cloned().collect()
    }
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}
