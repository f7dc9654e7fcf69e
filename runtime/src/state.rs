//! All that the daemon knows at one moment. Lists, answers, labels and metrics are made from one and the same, so that
//! they cannot disagree.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_schema::node_config::NodeConfig;

use crate::device::{Inventory, Offer, Share};
use crate::host::HostFiles;

/// What is known at one moment. It is replaced whole, never changed.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What the compiler wants.
    pub config: Arc<NodeConfig>,
    /// What the node has.
    pub inventory: Arc<Inventory>,
    /// The files of the driver and the devices, as the daemon sees them.
    pub files: Arc<HostFiles>,
    /// What the node offers.
    pub offers: Vec<Offer>,
    /// What is not well, by the UUID of the GPU or MIG device, and why.
    pub unwell: BTreeMap<String, String>,
}

impl State {
    /// The offer of this resource.
    pub fn offer(&self, resource: &str) -> Option<&Offer> {
        self.offers.iter().find(|offer| offer.resource == resource)
    }

    /// Why a share must not be used; nothing where it may. A slice is not well where its GPU is not.
    pub fn trouble(&self, share: &Share) -> Option<&str> {
        let gpu = self.inventory.gpu(share.gpu).map(crate::device::Gpu::id);
        let gpu = gpu.and_then(|id| self.unwell.get(&id));
        self.unwell.get(&share.part).or(gpu).map(String::as_str)
    }
}
