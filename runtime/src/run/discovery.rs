//! Opening the driver and discovering the GPUs, repeated until both succeed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use super::{Daemon, RESCAN_DELAY};
use crate::device::{self, Gpu, Inventory};
use crate::health::HealthEvent;
use crate::host::HostFiles;
use crate::nvml::{Nvml, NvmlError};

/// Interval of the periodic discovery while the node has fewer GPUs than expected. It doubles up to the maximum, and is
/// the maximum for a node with all of its GPUs: a driver without events may still lose one.
pub(super) const MIN_SCAN_INTERVAL: Duration = Duration::from_secs(2);
const MAX_SCAN_INTERVAL: Duration = Duration::from_mins(1);

/// Backoff between attempts to open a missing driver: initial and maximum.
pub(super) const BACKOFF: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_secs(10));

/// Number of failed discoveries before the driver is reopened.
const MAX_FAILED_SCANS: u32 = 3;

impl Daemon {
    pub(super) fn handle_opened(&mut self, nvml: Arc<dyn Nvml>) {
        self.open_at = None;
        self.failures = 0;
        if self.scan_error.is_none() {
            info!("driver loaded");
        } else {
            debug!("driver loaded");
        }
        self.outputs.driver.set(Some(Arc::clone(&nvml)));
        self.nvml = Some(nvml);
        self.watch_driver();
        self.scan_at = Some(Instant::now());
    }

    pub(super) fn handle_open_failure(&mut self, error: &NvmlError) {
        self.schedule_open();
        let message = Some(error.to_string());
        if self.status.driver_error == message {
            debug!("still waiting for the driver: {error}");
        } else {
            warn!("waiting for the driver: {error}");
            self.status.driver_error = message;
            self.publish_status();
        }
    }

    fn schedule_open(&mut self) {
        self.open_at = Some(Instant::now() + self.backoff);
        self.backoff = (self.backoff * 2).min(BACKOFF.1);
    }

    pub(super) fn handle_discovery(&mut self, inventory: Inventory, files: HostFiles) {
        self.failures = 0;
        self.backoff = BACKOFF.0;
        // Only a successful discovery resets the backoff, not opening the driver.
        let driver_recovered = self.status.driver_error.take().is_some();
        self.scan_error = None;
        self.outputs.metrics.count_rescan(true);
        for gpu in &inventory.gpus {
            if let Gpu::Unresponsive { error, .. } = gpu {
                self.outputs.metrics.count_nvml_error(error.kind);
            }
        }
        self.status.scans += 1;
        self.status.scanned_at = Some(Instant::now());
        let is_first = self.inventory.gpus.is_empty();
        let is_changed = driver_recovered
            || inventory.gpus != self.inventory.gpus
            || inventory.driver != self.inventory.driver
            || files != *self.files;
        self.schedule_scan(&inventory, is_changed);
        self.inventory = Arc::new(inventory);
        self.files = Arc::new(files);
        let now = self.health_store.now();
        let reaction = self
            .health
            .apply(&self.inventory, &HealthEvent::Scanned, now);
        let differences = device::differences(&self.inventory, &self.config);
        self.status.update_differences(differences);
        self.publish_status();
        if driver_recovered && self.status.scans > 1 {
            info!("the driver can be used again");
        }
        if is_changed {
            info!(gpus = self.inventory.gpus.len(), "discovered GPUs");
        }
        if is_first && self.inventory.gpus.len() > 1 {
            // The links between the GPUs are still unknown.
            self.scan_at = Some(Instant::now() + RESCAN_DELAY);
        }
        self.check_mps();
        // After a reload of the driver, the same GPUs may be back and have recovered.
        self.publish();
        self.apply_reaction(&reaction);
        self.monitor.compare(&self.inventory);
    }

    /// Schedules the next discovery, unless an earlier one is scheduled.
    fn schedule_scan(&mut self, inventory: &Inventory, is_changed: bool) {
        let expected = usize::try_from(self.config.expected.count).unwrap_or(usize::MAX);
        self.scan_interval = if inventory.gpus.len() >= expected {
            MAX_SCAN_INTERVAL
        } else if is_changed {
            MIN_SCAN_INTERVAL
        } else {
            (self.scan_interval * 2).min(MAX_SCAN_INTERVAL)
        };
        self.scan_at
            .get_or_insert(Instant::now() + self.scan_interval);
    }

    /// Handles a failed discovery. Resources stay advertised until several discoveries failed. The driver then cannot
    /// be used, and all handles are closed, because open handles prevent its replacement.
    pub(super) fn handle_discovery_failure(&mut self, error: &NvmlError) {
        self.failures += 1;
        self.outputs.metrics.count_rescan(false);
        self.outputs.metrics.count_nvml_error(error.kind);
        self.status.failed_scans += 1;
        let message = error.to_string();
        if self.scan_error.as_ref() == Some(&message) {
            debug!("still cannot read the GPUs: {message}");
        } else {
            warn!("cannot read the GPUs: {message}");
            self.scan_error = Some(message.clone());
        }
        self.publish_status();
        // A lost GPU that still does not respond stays lost.
        if self.failures < MAX_FAILED_SCANS && self.status.driver_error.is_none() {
            self.scan_at = Some(Instant::now() + BACKOFF.0 * (1 << self.failures));
            return;
        }
        self.nvml = None;
        self.outputs.driver.set(None);
        self.scan_at = None;
        self.schedule_open();
        if self.status.driver_error.replace(message).is_none() {
            error!("all devices are unhealthy: the driver cannot be used: {error}");
        }
        self.publish_status();
        self.publish();
        self.stop_monitoring(error);
    }
}
