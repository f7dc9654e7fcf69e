//! The state of the daemon at one moment. Device lists, allocations, labels and metrics are derived from the same
//! state, so that they are consistent.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_schema::node_config::NodeConfig;

use crate::device::{AdvertisedResource, Inventory, KubeletDevice};
use crate::host::HostFiles;

/// A snapshot of the state. It is replaced as a whole and never modified.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The configuration that the compiler wrote.
    pub config: Arc<NodeConfig>,
    /// The GPUs of the node.
    pub inventory: Arc<Inventory>,
    /// The driver files and device nodes, as seen by the daemon.
    pub files: Arc<HostFiles>,
    /// The advertised resources.
    pub advertised_resources: Vec<AdvertisedResource>,
    /// The unhealthy devices: UUID of the GPU or MIG device, and the cause.
    pub unhealthy: BTreeMap<String, String>,
}

impl State {
    /// Returns the advertised resource with this name.
    pub fn advertised_resource(&self, resource: &str) -> Option<&AdvertisedResource> {
        self.advertised_resources
            .iter()
            .find(|advertised_resource| advertised_resource.resource == resource)
    }

    /// Whether the node has the GPU or MIG device with this UUID, or this name of a GPU without one.
    pub fn has_device(&self, id: &str) -> bool {
        let is_gpu = self.inventory.gpus.iter().any(|gpu| gpu.id() == id);
        is_gpu || self.inventory.physical_device(id).is_some()
    }

    /// Returns why a share must not be used, if it is unhealthy. A MIG device is unhealthy if its GPU is.
    pub fn unhealthy_reason(&self, device: &KubeletDevice) -> Option<&str> {
        let gpu = self.inventory.gpu(device.gpu).map(crate::device::Gpu::id);
        let gpu = gpu.and_then(|id| self.unhealthy.get(&id));
        self.unhealthy
            .get(&device.physical_device)
            .or(gpu)
            .map(String::as_str)
    }
}
