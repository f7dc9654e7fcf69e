//! Reactions to the health of GPUs and to the monitoring of driver events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use super::monitor::MonitorReport;
use super::{Daemon, RESCAN_DELAY};
use crate::device::Gpu;
use crate::health::xid::{self, Effect};
use crate::health::{HealthEvent, Monitoring, Reaction, WatchReport};
use crate::nvml::reports::CountedReport;
use crate::nvml::{NvmlError, NvmlEvent, NvmlEventKind};
use crate::state::State;

/// Interval of the health queries of GPUs without faults: a GPU that is lost without an event is noticed within it.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between log lines about the same failure of the monitoring.
const MONITORING_LOG_INTERVAL: Duration = Duration::from_mins(10);

/// Minimum interval between log lines about the same Xid of a GPU.
const XID_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum number of different Xids whose log times are kept.
const MAX_LOGGED_XIDS: usize = 256;

/// The Xids in the log, by GPU and number, and the time.
pub(super) type LoggedXids = BTreeMap<(String, u64), Instant>;

impl Daemon {
    /// Handles a report of the monitoring. An event refers to the GPU by its UUID: its index may have changed since the
    /// subscription.
    pub(super) fn handle_monitor_report(&mut self, report: MonitorReport) {
        let MonitorReport { counted, uuid } = report;
        let CountedReport { mut report, count } = counted;
        if let WatchReport::Event(event) = &mut report {
            let mut gpus = self.inventory.gpus.iter();
            let gpu = gpus.find(|gpu| gpu.info().map(|info| &info.uuid) == uuid.as_ref());
            let is_known = uuid.is_none() || gpu.is_some();
            event.gpu = gpu.filter(|_| uuid.is_some()).map(Gpu::index);
            if !is_known {
                self.rescan_soon();
            }
            let event = *event;
            self.log_xid(&event, count);
        }
        self.apply_report(report, count);
    }

    /// Applies a report of the monitoring that occurred `count` times.
    pub(super) fn apply_report(&mut self, report: WatchReport, count: u64) {
        match &report {
            WatchReport::Failed(error) => self.log_monitoring_failure(error),
            WatchReport::Dropped => warn!("{count} driver events were dropped: querying all GPUs"),
            WatchReport::Started { .. } => {}
            // A subscription that starts can still hang or fail.
            WatchReport::Event(_) => self.logged_monitoring_error = None,
        }
        let event = HealthEvent::Watch(report);
        self.outputs
            .metrics
            .record_health_event(&self.inventory, &event, count);
        let reaction = self
            .health
            .apply(&self.inventory, &event, self.health_store.now());
        self.apply_reaction(&reaction);
        if let HealthEvent::Watch(WatchReport::Started { .. }) = event {
            self.monitor.compare(&self.inventory);
        }
        self.update_monitoring_status();
    }

    /// Logs why driver events are not monitored, once.
    fn log_monitoring_failure(&mut self, error: &NvmlError) {
        let error = error.to_string();
        // Without a driver, all devices are unhealthy, which is logged.
        let last = self.logged_monitoring_error.as_ref();
        let is_logged = last
            .is_some_and(|(logged, at)| *logged == error && at.elapsed() < MONITORING_LOG_INTERVAL);
        let is_known = self.status.driver_error.is_some() || is_logged;
        if is_known {
            debug!("driver events are not monitored: {error}");
        } else {
            warn!("driver events are not monitored, only queries every {POLL_INTERVAL:?}: {error}");
            self.logged_monitoring_error = Some((error, Instant::now()));
        }
    }

    /// Logs an Xid that does not make its GPU unhealthy by itself. One that does is logged with the GPU's health.
    fn log_xid(&mut self, event: &NvmlEvent, count: u64) {
        let NvmlEventKind::Xid { xid, .. } = event.kind else {
            return;
        };
        let gpu = event.gpu.and_then(|index| self.inventory.gpu(index));
        let consequence = match (self.health.policy().effect(xid), gpu) {
            (Effect::Application, _) => "the GPU stays healthy",
            (_, None) => "querying all GPUs",
            (Effect::QueryOnly, Some(_)) => "querying the GPU",
            (Effect::Quiet | Effect::Reset | Effect::Reboot, Some(_)) => return,
        };
        let gpu = gpu.map_or_else(|| "an unknown GPU".to_owned(), Gpu::id);
        let now = Instant::now();
        self.logged_xids
            .retain(|_, at| now.duration_since(*at) < XID_LOG_INTERVAL);
        let is_full = self.logged_xids.len() >= MAX_LOGGED_XIDS;
        let key = (gpu, xid);
        if !is_full && !self.logged_xids.contains_key(&key) {
            let what = xid::describe(xid);
            info!(count, "{}: {what}; {consequence}", key.0);
            self.logged_xids.insert(key, now);
        }
    }

    /// Applies a change of device health.
    pub(super) fn apply_reaction(&mut self, reaction: &Reaction) {
        self.outputs
            .metrics
            .set_monitoring(self.health.monitoring());
        let before = Arc::clone(&self.outputs.state.borrow());
        for (uuid, cause) in &reaction.became_unhealthy {
            // Others are logged when they are published.
            if before.unhealthy.contains_key(uuid) {
                error!("{uuid} is unhealthy: {cause}");
            }
        }
        self.health_store.schedule(&self.health, reaction.changed);
        if reaction.rescan {
            self.rescan_soon();
        }
        if reaction.changed {
            self.publish();
        }
    }

    /// Logs and counts the devices that became unhealthy or recovered, for any reason, and reports them as events.
    pub(super) fn report_transitions(&self, before: &State, after: &State) {
        let new = after.unhealthy.iter();
        let new = new.filter(|(id, _)| !before.unhealthy.contains_key(*id));
        let old = before.unhealthy.keys();
        let old = old.filter(|id| !after.unhealthy.contains_key(*id));
        let reaction = Reaction {
            became_unhealthy: new.map(|(id, cause)| (id.clone(), cause.clone())).collect(),
            // A device that is gone has not recovered.
            recovered: old.filter(|id| after.has_device(id)).cloned().collect(),
            ..Reaction::default()
        };
        for (id, cause) in &reaction.became_unhealthy {
            error!("{id} is unhealthy: {cause}");
        }
        for id in &reaction.recovered {
            info!("{id} recovered");
        }
        self.outputs.metrics.count_transitions(&reaction);
        if !reaction.became_unhealthy.is_empty() || !reaction.recovered.is_empty() {
            // The queue may be full or closed.
            let _ = self.outputs.changes.try_send(reaction);
        }
    }

    fn rescan_soon(&mut self) {
        let soon = Instant::now() + RESCAN_DELAY;
        self.scan_at = Some(self.scan_at.map_or(soon, |at| at.min(soon)));
    }

    /// Restarts the driver monitoring, or stops it if the policy disables it.
    pub(super) fn watch_driver(&mut self) {
        let Some(nvml) = self
            .nvml
            .as_ref()
            .filter(|_| self.health.policy().needs_monitoring())
        else {
            if self.nvml.is_some() {
                info!(
                    "driver events are not monitored: the configuration or DP_DISABLE_HEALTHCHECKS disables it"
                );
            }
            self.monitor.stop();
            return;
        };
        if let Err(error) = self.monitor.start(nvml) {
            error!("driver events are not monitored: {error}");
        }
    }

    /// Queries the GPUs without faults, and checks the watcher.
    pub(super) fn poll(&mut self) {
        self.poll_at = Instant::now() + POLL_INTERVAL;
        let now = self.health_store.now();
        if self.nvml.is_some() {
            self.health.query_healthy(&self.inventory, now);
        }
        if let Some(error) = self
            .monitor
            .abandon_hung_watcher(self.loader.call_timeout())
        {
            self.apply_report(WatchReport::Failed(error), 1);
        }
    }

    /// Ends the monitoring because the driver cannot be used.
    pub(super) fn stop_monitoring(&mut self, error: &NvmlError) {
        if self.monitor.stop() {
            // Events from now on are missed; GPUs are queried when monitoring resumes.
            self.apply_report(WatchReport::Failed(error.clone()), 1);
        }
    }

    fn update_monitoring_status(&mut self) {
        let error = match self.health.monitoring() {
            Monitoring::Down { error, .. } => Some(error.clone()),
            Monitoring::Off | Monitoring::Up { .. } => None,
        };
        let unmonitored = self.health.monitoring().failed_gpus();
        let unmonitored: Vec<_> = unmonitored
            .map(|(gpu, error)| format!("GPU {gpu}: {error}"))
            .collect();
        if self.status.unmonitored_gpus != unmonitored && self.status.driver_error.is_none() {
            for gpu in &unmonitored {
                warn!(
                    "driver events are not monitored, only queries every {POLL_INTERVAL:?}: {gpu}"
                );
            }
        }
        if (&self.status.monitoring_error, &self.status.unmonitored_gpus) != (&error, &unmonitored)
        {
            self.status.monitoring_error = error;
            self.status.unmonitored_gpus = unmonitored;
            self.publish_status();
        }
    }
}
