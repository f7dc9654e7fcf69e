//! The daemon: its state, its events, and its reactions to them. All reactions are in this module.

mod allocator;
mod configuration;
mod discovery;
mod driver;
mod event;
mod health_policy;
mod health_store;
mod jobs;
mod monitor;
mod mps_state;
mod probes;
mod reactions;
mod status;
mod wiring;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpuc_schema::node_config::NodeConfig;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{error, info};

pub use driver::{CALL_TIMEOUT, DriverLoader};
pub use event::Event;
pub use health_store::HealthStore;
pub use status::Status;
pub use wiring::{Machine, Settings, serve};

use crate::config::LoadedConfig;
use crate::device::{self, Inventory};
use crate::health::{Health, Reaction};
use crate::host::HostFiles;
use crate::metrics::PluginMetrics;
use crate::nvml::{DriverHandle, Nvml};
use crate::plugin::PluginEvent;
use crate::state::State;
use jobs::Jobs;
use monitor::Monitor;
use mps_state::MpsState;
use reactions::LoggedXids;

/// Delay before a triggered GPU discovery: simultaneous events of eight GPUs cause one discovery.
const RESCAN_DELAY: Duration = Duration::from_millis(20);

/// Minimum interval between queries of GPUs: thousands of errors in a second do not cause as many queries.
const QUERY_INTERVAL: Duration = Duration::from_millis(200);

/// Delay before CDI specs that could not be written are retried.
const SPEC_RETRY_DELAY: Duration = Duration::from_secs(5);

/// The receivers of the daemon's updates: metrics, the Node object, and tests.
pub struct Outputs {
    /// The state of the GPUs.
    pub state: watch::Sender<Arc<State>>,
    /// The status of the daemon.
    pub status: watch::Sender<Status>,
    /// Changes of device health. Those that do not fit into the queue get no event; the state contains them.
    pub changes: mpsc::Sender<Reaction>,
    /// The counters.
    pub metrics: PluginMetrics,
    /// The driver handle for the measurement of GPUs.
    pub driver: DriverHandle,
}

/// The daemon.
pub struct Daemon {
    config: Arc<NodeConfig>,
    /// The values of `DP_DISABLE_HEALTHCHECKS` and `DP_ENABLE_HEALTHCHECKS`.
    health_check_variables: (Option<String>, Option<String>),
    loader: DriverLoader,
    events: mpsc::UnboundedSender<Event>,
    outputs: Outputs,
    status: Status,
    nvml: Option<Arc<dyn Nvml>>,
    jobs: Jobs,
    monitor: Monitor,
    logged_xids: LoggedXids,
    /// Why driver events are not monitored; logged once.
    logged_monitoring_error: Option<(String, Instant)>,
    /// When to query the GPUs without faults.
    poll_at: Instant,
    inventory: Arc<Inventory>,
    files: Arc<HostFiles>,
    health: Health,
    health_store: HealthStore,
    /// The earliest time of the next query.
    query_at: Instant,
    /// When to open the driver.
    open_at: Option<Instant>,
    /// Delay before the driver is reopened; grows with each attempt until a discovery succeeds.
    backoff: Duration,
    scan_at: Option<Instant>,
    /// Interval of the periodic discovery.
    scan_interval: Duration,
    failures: u32,
    /// The error of the last discovery, if it failed; logged once.
    scan_error: Option<String>,
    mps: MpsState,
    /// Why the CDI specs could not be written; logged once.
    spec_error: Option<String>,
}

impl Daemon {
    /// Creates a daemon with an empty state.
    pub fn new(
        loaded: LoadedConfig,
        loader: DriverLoader,
        events: mpsc::UnboundedSender<Event>,
        outputs: Outputs,
        mut health_store: HealthStore,
    ) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let words = (
            variable("DP_DISABLE_HEALTHCHECKS"),
            variable("DP_ENABLE_HEALTHCHECKS"),
        );
        let now = Instant::now();
        let config = loader.adjust_config(loaded.config);
        let mut health = Health::new(health_policy::resolve(&config, &words));
        health_store.restore(&mut health);
        let mut daemon = Self {
            health,
            health_store,
            query_at: now,
            health_check_variables: words,
            outputs,
            status: Status::default(),
            nvml: None,
            jobs: Jobs::new(&loader, &events),
            monitor: Monitor::new(),
            logged_xids: LoggedXids::new(),
            logged_monitoring_error: None,
            poll_at: now + reactions::POLL_INTERVAL,
            inventory: Arc::default(),
            files: Arc::default(),
            open_at: Some(now),
            backoff: discovery::BACKOFF.0,
            scan_at: None,
            scan_interval: discovery::MIN_SCAN_INTERVAL,
            failures: 0,
            scan_error: None,
            mps: MpsState::default(),
            spec_error: None,
            config: Arc::new(config),
            loader,
            events,
        };
        daemon
            .outputs
            .metrics
            .initialize(&daemon.outputs.state.borrow());
        daemon.set_unknown_keys(loaded.unknown_keys);
        daemon.publish_status();
        daemon.check_mps();
        daemon
    }

    /// Returns the initial state, which advertises nothing.
    pub fn empty_state(config: &NodeConfig) -> Arc<State> {
        Arc::new(State {
            config: Arc::new(config.clone()),
            inventory: Arc::default(),
            files: Arc::default(),
            advertised_resources: Vec::new(),
            unhealthy: BTreeMap::new(),
        })
    }

    /// Processes events until shutdown.
    pub async fn run(&mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        loop {
            self.run_due_tasks();
            let due = self.next_due();
            // The driver is monitored from the start; its events are handled once the GPUs are known.
            let is_discovered = self.status.scans > 0;
            let event = tokio::select! {
                event = events.recv() => event,
                report = self.monitor.next_report(), if is_discovered => {
                    self.handle_monitor_report(report);
                    continue;
                }
                () = wiring::sleep_until(due) => continue,
            };
            match event {
                Some(Event::Shutdown(reason)) => {
                    info!("shutting down: {reason}");
                    self.health_store.flush(&self.health);
                    return;
                }
                Some(event) => self.handle_event(event),
                None => return,
            }
        }
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Opened(job, opened) => {
                if self.jobs.end_opening(job) {
                    match opened {
                        Ok(nvml) => self.handle_opened(nvml),
                        Err(error) => self.handle_open_failure(&error),
                    }
                }
            }
            Event::Scanned(job, scanned) => {
                if self.jobs.end_scan(job) {
                    match scanned {
                        Ok((inventory, files)) => self.handle_discovery(inventory, files),
                        Err(error) => self.handle_discovery_failure(&error),
                    }
                }
            }
            Event::Probed(job, gpu, result) => {
                if self.jobs.end_query(job, gpu) {
                    self.handle_condition(gpu, result);
                }
            }
            Event::Returned(subject) => self.handle_return(subject),
            Event::Config(Ok(config)) => self.handle_config(config),
            Event::Config(Err(error)) => self.reject_config(&error),
            Event::Plugin(event) => self.handle_plugin_event(event),
            Event::Rescan => self.scan_at = Some(Instant::now()),
            Event::Liveness(reply) => {
                let _ = reply.send(());
            }
            Event::Shutdown(_) => {}
        }
    }

    fn handle_plugin_event(&mut self, event: PluginEvent) {
        match &event {
            PluginEvent::Registered { resource, .. } => {
                self.outputs.metrics.count_registration(resource);
            }
            PluginEvent::NotRegistered { resource, .. } | PluginEvent::NotWatched { resource } => {
                self.outputs.metrics.count_registration_failure(resource);
            }
            _ => {}
        }
        if self.status.handle_plugin_event(event) {
            self.publish_status();
        }
    }

    /// Publishes a new state.
    fn publish(&mut self) {
        let mut unhealthy = self.health.unhealthy();
        if let Some(error) = &self.status.driver_error {
            let error = format!("the driver cannot be used: {error}");
            for gpu in &self.inventory.gpus {
                unhealthy.entry(gpu.id()).or_insert_with(|| error.clone());
            }
        }
        for (uuid, reason) in self.mps.unserved_gpus(&self.inventory) {
            unhealthy.entry(uuid).or_insert_with(|| reason.to_owned());
        }
        for (uuid, reason) in device::unusable_gpus(&self.inventory, &self.config.sharing) {
            unhealthy.entry(uuid).or_insert(reason);
        }
        let mut state = State {
            advertised_resources: device::advertised_resources(
                &self.inventory,
                &self.config.sharing,
            ),
            config: Arc::clone(&self.config),
            inventory: Arc::clone(&self.inventory),
            files: Arc::clone(&self.files),
            unhealthy,
        };
        // The spec must contain every advertised device, even if another process deleted the file.
        let spec_error = self.loader.write_specs(&state).err();
        if let Some(error) = &spec_error {
            if self.spec_error.as_ref() != Some(error) {
                error!("{error}");
            }
            // Without the spec, no container with these devices could start.
            for gpu in &state.inventory.gpus {
                let unhealthy = state.unhealthy.entry(gpu.id());
                unhealthy.or_insert_with(|| error.clone());
            }
            let soon = Instant::now() + SPEC_RETRY_DELAY;
            self.scan_at = Some(self.scan_at.map_or(soon, |at| at.min(soon)));
        }
        self.spec_error = spec_error;
        let before = Arc::clone(&self.outputs.state.borrow());
        if state != *before {
            self.outputs.metrics.initialize(&state);
            self.report_transitions(&before, &state);
            self.outputs.state.send_replace(Arc::new(state));
        }
    }

    fn publish_status(&self) {
        let status = &self.status;
        self.outputs.status.send_if_modified(|current| {
            let is_changed = current != status;
            if is_changed {
                current.clone_from(status);
            }
            is_changed
        });
    }

    fn run_due_tasks(&mut self) {
        let now = Instant::now();
        self.abandon_overdue_calls();
        if self.open_at.is_some_and(|at| at <= now) {
            self.open_at = None;
            self.start_opening();
        }
        if self.scan_at.is_some_and(|at| at <= now) && !self.jobs.is_scanning() {
            self.scan_at = None;
            if let Some(nvml) = self.nvml.clone() {
                self.start_scan(&nvml);
            }
        }
        if self.monitor.renew_at().is_some_and(|at| at <= now) {
            self.watch_driver();
        }
        if self.poll_at <= now {
            self.poll();
        }
        // Queries wait until the driver is loaded: meanwhile, all GPUs are unhealthy anyway.
        if self.nvml.is_some() && self.query_at <= now {
            let due = self.health.take_due_queries(self.health_store.now());
            if !due.is_empty() {
                self.query_at = now + QUERY_INTERVAL;
            }
            self.start_queries(&due);
        }
        self.health_store.save_due(&self.health);
        if self.mps.check_at().is_some_and(|at| at <= now) && self.check_mps() {
            self.publish();
        }
    }

    /// Returns when the next timer expires.
    fn next_due(&self) -> Option<Instant> {
        let probe = self.health.next_probe().filter(|_| self.nvml.is_some());
        let probe = probe.map(|at| self.health_store.instant(at).max(self.query_at));
        let scan = self.scan_at.filter(|_| !self.jobs.is_scanning());
        let renewal = self.monitor.renew_at();
        let save = self.health_store.save_at();
        let timers = [
            probe,
            scan,
            renewal,
            save,
            self.open_at,
            self.mps.check_at(),
        ];
        timers
            .into_iter()
            .chain([Some(self.poll_at), self.next_call_check()])
            .flatten()
            .min()
    }

    /// Checks which GPUs the MPS control daemon serves, if the configuration uses MPS. Returns whether that changed.
    fn check_mps(&mut self) -> bool {
        let advertised = device::advertised_resources(&self.inventory, &self.config.sharing);
        self.mps.check(&self.config.sharing, &advertised)
    }
}
