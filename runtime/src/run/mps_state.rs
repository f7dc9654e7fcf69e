//! The readiness of the MPS control daemon, which runs in another container of the pod.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use gpuc_schema::node_config::NodeSharing;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::device::{AdvertisedResource, Gpu, Inventory};
use crate::mps;

/// Interval of the readiness check of the MPS control daemon.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// How long the control daemon may take to start before the log reports it.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Which GPUs the control daemon serves.
#[derive(Default)]
pub(super) struct MpsState {
    /// `None` if the configuration does not use MPS.
    served: Option<ServedGpus>,
    check_at: Option<Instant>,
    /// When to log that the control daemon is not ready. `None` after that, and while it is ready.
    warn_at: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServedGpus {
    NotReady,
    /// By UUID.
    Ready(BTreeSet<String>),
}

impl MpsState {
    /// Returns when to check again.
    pub(super) fn check_at(&self) -> Option<Instant> {
        self.check_at
    }

    /// Checks the readiness, and returns whether it changed.
    pub(super) fn check(
        &mut self,
        sharing: &NodeSharing,
        advertised: &[AdvertisedResource],
    ) -> bool {
        let NodeSharing::Mps { root, .. } = sharing else {
            self.check_at = None;
            return self.served.take().is_some();
        };
        let now = Instant::now();
        self.check_at = Some(now + CHECK_INTERVAL);
        let lists = advertised
            .iter()
            .map(|resource| mps::served_gpus(Path::new(root), &resource.resource));
        let served = match lists.collect::<Option<Vec<_>>>() {
            Some(lists) if !lists.is_empty() => {
                ServedGpus::Ready(lists.into_iter().flatten().collect())
            }
            _ => ServedGpus::NotReady,
        };
        let is_changed = self.served.as_ref() != Some(&served);
        if is_changed {
            let is_end = matches!(self.served, Some(ServedGpus::Ready(_)));
            self.warn_at = match &served {
                ServedGpus::Ready(gpus) => {
                    info!(gpus = gpus.len(), "the MPS control daemon is ready");
                    None
                }
                ServedGpus::NotReady if is_end => Some(now),
                ServedGpus::NotReady => Some(now + START_TIMEOUT),
            };
            self.served = Some(served);
        }
        if self.warn_at.is_some_and(|at| at <= now) {
            self.warn_at = None;
            warn!(
                "the MPS control daemon is not ready, all devices are unhealthy: see the log of the container `mps-control` of \
                 this pod"
            );
        }
        is_changed
    }

    /// Returns the GPUs that the control daemon does not serve, by UUID, and why.
    pub(super) fn unserved_gpus(&self, inventory: &Inventory) -> Vec<(String, &'static str)> {
        let Some(served) = &self.served else {
            return Vec::new();
        };
        let ids = inventory.gpus.iter().map(Gpu::id);
        let unserved = ids.filter_map(|id| match served {
            ServedGpus::NotReady => Some((id, "the MPS control daemon is not ready")),
            ServedGpus::Ready(gpus) if gpus.contains(&id) => None,
            ServedGpus::Ready(_) => Some((
                id,
                "the MPS control daemon started without this GPU: delete this node's pod of gpuc-runtime",
            )),
        });
        unserved.collect()
    }
}
