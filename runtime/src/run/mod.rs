//! The daemon: what it knows, everything that can happen, and how it reacts. This is the only place that does.

mod desk;
mod driver;
mod event;
mod status;
mod vitals;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpuc_schema::node_config::{NodeConfig, NodeSharing};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

pub use driver::Opener;
pub use event::Event;
pub use status::Status;
pub use world::{Settings, serve};

use crate::config;
use crate::device::{self, Inventory};
use crate::health::{Health, HealthEvent, Policy, Reaction, WatchReport};
use crate::host::HostFiles;
use crate::metrics::Plugin;
use crate::mps;
use crate::nvml::{Late, Nvml, NvmlError, NvmlErrorKind, watcher};
use crate::plugin::PluginEvent;
use crate::state::State;

/// How often the GPUs are read anew without any reason: a driver that tells of nothing may still lose one.
const RESCAN: Duration = Duration::from_mins(1);

/// How soon GPUs are read anew where there is a reason: what happens to eight at once is read once.
const SETTLED: Duration = Duration::from_millis(20);

/// How long a driver that is not there is left in peace: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// How often the driver as a whole may fail to answer before it is opened anew.
const LOST_AFTER: u32 = 3;

/// How often it is looked whether the control daemon of the Multi-Process Service answers.
const MPS_LOOK: Duration = Duration::from_millis(500);

/// How soon CDI specs that could not be written are tried again.
const SPECS_AGAIN: Duration = Duration::from_secs(5);

/// How many events from before the first reading are kept one by one; beyond that, one of each.
const EARLY: usize = 256;

/// Where reports of the daemon go: to metrics, to the node object, to whoever tests it.
pub struct Outlets {
    /// What is known of the GPUs.
    pub state: watch::Sender<Arc<State>>,
    /// What is known of the daemon.
    pub status: watch::Sender<Status>,
    /// What fell ill and what is well again, as it happens.
    pub changes: mpsc::UnboundedSender<Reaction>,
    /// What is counted.
    pub metrics: Plugin,
    /// Where those who measure GPUs find the driver.
    pub driver: Late,
}

/// The daemon's memory.
pub struct Daemon {
    config: Arc<NodeConfig>,
    /// What `DP_DISABLE_HEALTHCHECKS` and `DP_ENABLE_HEALTHCHECKS` say.
    words: (Option<String>, Option<String>),
    opener: Opener,
    events: mpsc::UnboundedSender<Event>,
    outlets: Outlets,
    status: Status,
    nvml: Option<Arc<dyn Nvml>>,
    watcher: Option<watcher::Handle>,
    inventory: Arc<Inventory>,
    files: Arc<HostFiles>,
    health: Health,
    begin: Instant,
    /// When the driver is to be opened.
    opening: Option<Instant>,
    /// How long is waited before it is opened anew; longer each time until the GPUs could be read.
    patience: Duration,
    scanning: bool,
    scan_at: Option<Instant>,
    failures: u32,
    /// What happened to GPUs before they were first read: the driver is watched from the start on.
    early: Vec<WatchReport>,
    mps_ready: bool,
    mps_at: Option<Instant>,
}

impl Daemon {
    /// A daemon that knows nothing yet.
    pub fn new(
        config: NodeConfig,
        opener: Opener,
        events: mpsc::UnboundedSender<Event>,
        outlets: Outlets,
    ) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let words = (
            variable("DP_DISABLE_HEALTHCHECKS"),
            variable("DP_ENABLE_HEALTHCHECKS"),
        );
        let now = Instant::now();
        let mut daemon = Self {
            health: Health::new(policy(&config, &words)),
            words,
            opener,
            events,
            outlets,
            status: Status::default(),
            nvml: None,
            watcher: None,
            inventory: Arc::default(),
            files: Arc::default(),
            begin: now,
            opening: Some(now),
            patience: PATIENCE.0,
            scanning: false,
            scan_at: None,
            failures: 0,
            early: Vec::new(),
            mps_ready: false,
            mps_at: None,
            config: Arc::new(config),
        };
        daemon.look_for_mps();
        daemon
    }

    /// The state before anything is known: nothing is offered.
    pub fn nothing(config: &NodeConfig) -> Arc<State> {
        Arc::new(State {
            config: Arc::new(config.clone()),
            inventory: Arc::default(),
            files: Arc::default(),
            offers: Vec::new(),
            unwell: BTreeMap::new(),
        })
    }

    /// Reacts to what happens, until it is told to stop.
    pub async fn run(&mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        loop {
            self.do_what_is_due();
            let due = self.next_due();
            let event = tokio::select! {
                event = events.recv() => event,
                () = world::until(due) => continue,
            };
            match event {
                Some(Event::Shutdown(why)) => {
                    info!("leaving: {why}");
                    return;
                }
                Some(event) => self.react(event),
                None => return,
            }
        }
    }

    fn react(&mut self, event: Event) {
        match event {
            Event::Opened(Ok(nvml)) => self.opened(nvml),
            Event::Opened(Err(error)) => self.not_opened(&error),
            Event::Scanned(Ok((inventory, files))) => self.scanned(inventory, files),
            Event::Scanned(Err(error)) => self.not_scanned(&error),
            Event::Watch(report @ WatchReport::Event(_)) if self.status.scans == 0 => {
                // A storm of one error while the driver hangs is told once; others are not lost for it.
                if self.early.len() < EARLY || !self.early.contains(&report) {
                    self.early.push(report);
                }
            }
            Event::Watch(report) => self.watched(report),
            Event::Probed(gpu, answer) => {
                let now = self.now();
                let reaction = self.health.probed(&self.inventory, gpu, answer, now);
                self.follow(reaction);
            }
            Event::Config(Ok(config)) => self.configured(config),
            Event::Config(Err(error)) => {
                error!("the new configuration is not taken, the last good one stays: {error}");
                self.outlets.metrics.config_refused();
                self.status.config_trouble = Some(error.to_string());
                self.tell_status();
            }
            Event::Plugin(event) => self.heard_of_plugin(event),
            Event::Rescan => self.scan_at = Some(Instant::now()),
            Event::Pulse(answer) => {
                // Who asked may have gone.
                let _ = answer.send(());
            }
            Event::Shutdown(_) => {}
        }
    }

    fn watched(&mut self, report: WatchReport) {
        if let WatchReport::Failed(error) = &report {
            warn!("GPUs are offered and not watched: {error}");
        }
        let event = HealthEvent::Watch(report);
        self.outlets.metrics.happened(&self.inventory, &event);
        let reaction = self.health.apply(&self.inventory, &event, self.now());
        self.follow(reaction);
    }

    fn opened(&mut self, nvml: Arc<dyn Nvml>) {
        self.opening = None;
        self.failures = 0;
        info!("the driver is there");
        self.outlets.driver.set(Some(Arc::clone(&nvml)));
        self.nvml = Some(nvml);
        self.watch_driver();
        self.scan_at = Some(Instant::now());
    }

    fn not_opened(&mut self, error: &NvmlError) {
        self.open_later();
        let trouble = Some(error.to_string());
        if self.status.driver_trouble == trouble {
            debug!("still: {error}");
        } else {
            warn!("waiting for the driver: {error}");
            self.status.driver_trouble = trouble;
            self.tell_status();
        }
    }

    fn open_later(&mut self) {
        self.opening = Some(Instant::now() + self.patience);
        self.patience = (self.patience * 2).min(PATIENCE.1);
    }

    fn scanned(&mut self, inventory: Inventory, files: HostFiles) {
        self.scanning = false;
        self.failures = 0;
        self.patience = PATIENCE.0;
        // A driver that can be opened is trusted once it answers.
        let is_back = self.status.driver_trouble.take().is_some();
        self.outlets.metrics.rescanned(true);
        self.status.scans += 1;
        self.scan_at.get_or_insert(Instant::now() + RESCAN);
        let is_news = is_back || inventory != *self.inventory || files != *self.files;
        self.inventory = Arc::new(inventory);
        self.files = Arc::new(files);
        let now = self.now();
        let reaction = self
            .health
            .apply(&self.inventory, &HealthEvent::Scanned, now);
        let differences = device::differences(&self.inventory, &self.config);
        self.status.compare(differences);
        self.tell_status();
        if is_news {
            info!(gpus = self.inventory.gpus.len(), "the GPUs were read");
        }
        // A driver that is back may have brought the same GPUs back: they are well again all the same.
        self.publish();
        self.follow(reaction);
        for report in std::mem::take(&mut self.early) {
            self.watched(report);
        }
    }

    /// The driver as a whole did not answer. What is offered stays until that was so several times: then the driver was
    /// unloaded, and no handle of it may be kept, or it could not be replaced.
    fn not_scanned(&mut self, error: &NvmlError) {
        self.scanning = false;
        self.failures += 1;
        self.outlets.metrics.rescanned(false);
        self.outlets.metrics.nvml_error(error.kind);
        self.status.failed_scans += 1;
        warn!("the GPUs cannot be read: {error}");
        self.tell_status();
        // One that was lost and does not answer now either is still lost.
        if self.failures < LOST_AFTER && self.status.driver_trouble.is_none() {
            self.scan_at = Some(Instant::now() + PATIENCE.0 * (1 << self.failures));
            return;
        }
        self.nvml = None;
        self.outlets.driver.set(None);
        self.scan_at = None;
        self.open_later();
        self.status.driver_trouble = Some(error.to_string());
        self.tell_status();
        self.publish();
        if self.watcher.take().is_some() {
            // What happens from now on is not seen: it is asked after when somebody watches again.
            self.watched(WatchReport::Failed(error.clone()));
        }
    }

    fn configured(&mut self, config: NodeConfig) {
        info!(pool = config.pool, "the configuration changed");
        if config.driver != self.config.driver {
            warn!("where the driver is changes with the next start of this pod");
        }
        let watched = self.health.policy().watches();
        self.health.set_policy(policy(&config, &self.words));
        self.outlets.metrics.config_loaded(&config::digest(&config));
        self.config = Arc::new(config);
        self.status.config_trouble = None;
        let differences = device::differences(&self.inventory, &self.config);
        self.status.compare(differences);
        self.tell_status();
        if self.health.policy().watches() != watched {
            self.watch_driver();
            let monitoring = self.health.monitoring();
            self.outlets
                .metrics
                .reacted(&Reaction::default(), monitoring);
        }
        self.look_for_mps();
        self.publish();
    }

    fn heard_of_plugin(&mut self, event: PluginEvent) {
        match &event {
            PluginEvent::Registered { resource, .. } => self.outlets.metrics.registered(resource),
            PluginEvent::NotRegistered { resource, .. } => {
                self.outlets.metrics.registration_failed(resource);
            }
            _ => {}
        }
        if self.status.heard(event) {
            self.tell_status();
        }
    }

    /// What follows from a change of health.
    fn follow(&mut self, reaction: Reaction) {
        self.outlets
            .metrics
            .reacted(&reaction, self.health.monitoring());
        for (part, cause) in &reaction.fell {
            error!("{part} is not well: {cause}");
        }
        for part in &reaction.recovered {
            info!("{part} is well again");
        }
        if reaction.rescan {
            let soon = Instant::now() + SETTLED;
            self.scan_at = Some(self.scan_at.map_or(soon, |at| at.min(soon)));
        }
        if reaction.changed {
            self.publish();
        }
        if !reaction.fell.is_empty() || !reaction.recovered.is_empty() {
            // Who no longer listens does not want to know.
            let _ = self.outlets.changes.send(reaction);
        }
    }

    /// Makes a new state of what is known.
    fn publish(&mut self) {
        let mut unwell = self.health.unwell();
        let trouble = match &self.status.driver_trouble {
            Some(trouble) => Some(format!("the driver is gone: {trouble}")),
            None => (!self.mps_ready).then(|| "the MPS control daemon is not ready".to_owned()),
        };
        if let Some(trouble) = trouble {
            for gpu in &self.inventory.gpus {
                unwell.entry(gpu.id()).or_insert_with(|| trouble.clone());
            }
        }
        let mut state = State {
            offers: device::offers(&self.inventory, &self.config.sharing),
            config: Arc::clone(&self.config),
            inventory: Arc::clone(&self.inventory),
            files: Arc::clone(&self.files),
            unwell,
        };
        // A container that is told of a device must find it in the spec, though others may have removed that.
        if let Err(trouble) = self.opener.write_specs(&state) {
            error!("{trouble}");
            // No container could start with what it would be told of.
            for gpu in &state.inventory.gpus {
                let unwell = state.unwell.entry(gpu.id());
                unwell.or_insert_with(|| trouble.clone());
            }
            let soon = Instant::now() + SPECS_AGAIN;
            self.scan_at = Some(self.scan_at.map_or(soon, |at| at.min(soon)));
        }
        if state != **self.outlets.state.borrow() {
            self.outlets.state.send_replace(Arc::new(state));
        }
    }

    fn tell_status(&self) {
        let status = &self.status;
        self.outlets.status.send_if_modified(|told| {
            let is_news = told != status;
            if is_news {
                told.clone_from(status);
            }
            is_news
        });
    }

    fn do_what_is_due(&mut self) {
        let now = Instant::now();
        if self.opening.is_some_and(|at| at <= now) {
            self.opening = None;
            self.opener.open(&self.events);
        }
        if self.scan_at.is_some_and(|at| at <= now) && !self.scanning {
            self.scan_at = None;
            if let Some(nvml) = &self.nvml {
                self.scanning = true;
                let host_root = &self.config.driver.host_root;
                self.opener
                    .scan(nvml, Arc::clone(&self.inventory), host_root, &self.events);
            }
        }
        for gpu in self.health.due(self.now()) {
            if let Some(nvml) = &self.nvml {
                driver::probe(nvml, gpu, &self.events);
                continue;
            }
            let gone = NvmlError {
                kind: NvmlErrorKind::NoDriver,
                message: "the driver is gone".to_owned(),
            };
            // The loop that reads it is this one.
            let _ = self.events.send(Event::Probed(gpu, Err(gone)));
        }
        if self.mps_at.is_some_and(|at| at <= now) {
            let ready = self.mps_ready;
            self.look_for_mps();
            if self.mps_ready != ready {
                self.publish();
            }
        }
    }

    /// When something is due next.
    fn next_due(&self) -> Option<Instant> {
        let probe = self.health.next_probe();
        let probe = probe.map(|at| self.begin + Duration::from_millis(at));
        let scan = self.scan_at.filter(|_| !self.scanning);
        [probe, scan, self.opening, self.mps_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Watches the driver anew, or not at all where nobody wants it.
    fn watch_driver(&mut self) {
        self.watcher = None;
        let Some(nvml) = self
            .nvml
            .as_ref()
            .filter(|_| self.health.policy().watches())
        else {
            return;
        };
        match driver::watch(nvml, &self.events) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => error!("GPUs are offered and not watched: {error}"),
        }
    }

    /// Whether the control daemon of the Multi-Process Service answers, where one is wanted.
    fn look_for_mps(&mut self) {
        let NodeSharing::Mps { root, .. } = &self.config.sharing else {
            (self.mps_ready, self.mps_at) = (true, None);
            return;
        };
        let offers = device::offers(&self.inventory, &self.config.sharing);
        let mut resources = offers.iter().map(|offer| &offer.resource);
        self.mps_ready = resources.all(|resource| mps::is_ready(root.as_ref(), resource));
        self.mps_at = Some(Instant::now() + MPS_LOOK);
    }

    /// Milliseconds since the daemon began.
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn policy(config: &NodeConfig, (disable, enable): &(Option<String>, Option<String>)) -> Policy {
    let (policy, unknown) = Policy::new(&config.health, disable.as_deref(), enable.as_deref());
    for word in unknown {
        warn!("`{word}` in DP_DISABLE_HEALTHCHECKS or DP_ENABLE_HEALTHCHECKS is no XID");
    }
    policy
}
