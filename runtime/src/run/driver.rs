//! Driver calls, each on a blocking thread. Results arrive as events.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpuc_schema::node_config::{DeviceInjection, Driver, NodeConfig};
use tokio::sync::mpsc::UnboundedSender;

use super::Event;
use crate::cdi;
use crate::device::{Inventory, discover, discover_without_links};
use crate::driver_files::DriverFiles;
use crate::host::{HostFiles, Roots};
use crate::nvml::fake::Fake;
use crate::nvml::guard::{CallGuard, GuardedDriver, Job, JobCount, JobId, Subject};
use crate::nvml::{Nvml, NvmlError, Real};
use crate::publish::cdi_file;
use crate::state::State;

/// Time limit of a driver call. A healthy driver answers within milliseconds; without persistence mode, the first call
/// about a GPU initializes it, which takes a few seconds (docs.nvidia.com/deploy/driver-persistence, 2026-11).
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the driver and reads the node's files.
#[derive(Clone)]
pub struct DriverLoader {
    roots: Roots,
    fake: Option<Fake>,
    call_timeout: Duration,
    jobs: JobCount,
}

impl DriverLoader {
    /// Creates a loader of the real driver below the roots, or of a simulated one.
    pub fn new(roots: Roots, fake: Option<Fake>) -> Self {
        Self {
            roots,
            fake,
            call_timeout: CALL_TIMEOUT,
            jobs: JobCount::default(),
        }
    }

    /// Sets the time limit of a driver call, [`CALL_TIMEOUT`] by default.
    #[must_use]
    pub fn with_call_timeout(self, call_timeout: Duration) -> Self {
        Self {
            call_timeout,
            ..self
        }
    }

    /// Adjusts a configuration to a simulated machine: the host has neither its device nodes nor its driver, so
    /// containers get an environment variable only.
    pub(super) fn adjust_config(&self, config: NodeConfig) -> NodeConfig {
        if self.fake.is_none() {
            return config;
        }
        NodeConfig {
            devices: DeviceInjection::EnvironmentVariable,
            pass_device_nodes: false,
            extras: Vec::new(),
            ..config
        }
    }

    /// Returns the count of the jobs that call the driver now.
    pub fn job_count(&self) -> JobCount {
        self.jobs.clone()
    }

    /// The time limit of a driver call.
    pub(super) fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// Creates the guard of the driver calls. Calls that return after all are events.
    pub(super) fn guard(&self, events: &UnboundedSender<Event>) -> CallGuard {
        let events = events.clone();
        CallGuard::new(self.call_timeout, move |subject| {
            // The daemon has shut down.
            let _ = events.send(Event::Returned(subject));
        })
        .with_job_count(self.jobs.clone())
    }

    /// Opens the driver.
    pub(super) fn open(&self, job: Job, events: &UnboundedSender<Event>) -> JobId {
        let (loader, id) = (self.clone(), job.id());
        spawn_query(events, move |events| {
            let opened = job.call(Subject::Driver, "initialization", || loader.open_driver());
            events(Event::Opened(id, opened));
        });
        id
    }

    fn open_driver(&self) -> Result<Arc<dyn Nvml>, NvmlError> {
        match &self.fake {
            Some(fake) => {
                // A simulated driver can be unavailable as well.
                fake.driver()?;
                Ok(Arc::new(fake.clone()))
            }
            None => Ok(Arc::new(Real::open(&self.roots.driver)?)),
        }
    }

    /// Discovers the GPUs and reads the node's files.
    pub(super) fn scan(
        &self,
        nvml: &Arc<dyn Nvml>,
        job: Job,
        before: Arc<Inventory>,
        host_root: &str,
        events: &UnboundedSender<Event>,
    ) -> JobId {
        let id = job.id();
        let nvml = GuardedDriver::new(Arc::clone(nvml), job);
        let roots = self.roots.clone();
        let host_root = host_root.to_owned();
        spawn_query(events, move |events| {
            // The kubelet waits for the first discovery; a second one, at once, reads the links.
            let discover = if before.gpus.is_empty() {
                discover_without_links
            } else {
                discover
            };
            let inventory = discover(&nvml, &roots, Some(&before));
            let scanned = inventory.map(|inventory| {
                let files = HostFiles::read(&roots, &host_root, &inventory);
                (inventory, files)
            });
            events(Event::Scanned(id, scanned));
        });
        id
    }

    /// Writes the CDI specs of a state if containers receive devices through CDI. Returns the error message if writing
    /// fails, or if the driver's files are not found: containers would start without the driver's libraries.
    pub(super) fn write_specs(&self, state: &State) -> Result<(), String> {
        let DeviceInjection::Cdi { spec_dir, .. } = &state.config.devices else {
            return Ok(());
        };
        let version = &state.inventory.driver.version;
        let files = DriverFiles::read(&self.roots.driver, version);
        if !state.inventory.gpus.is_empty()
            && let Some(missing) = files.missing_file(version)
        {
            return Err(missing_library(&missing, &state.config.driver));
        }
        let specs = cdi::specs(&state.config, &state.inventory, &state.files, &files);
        cdi_file::write(&PathBuf::from(spec_dir), &specs)
            .map(drop)
            .map_err(|error| format!("cannot write CDI specs to {spec_dir}: {error}"))
    }
}

fn missing_library(library: &str, driver: &Driver) -> String {
    let folders = DriverFiles::library_folders().join(", ");
    let root = &driver.host_root;
    format!(
        "containers would have no CUDA: {library} of the driver is in none of {folders} below {root}, the driver's \
         folder on the node"
    )
}

/// Queries the conditions of GPUs, one after the other.
pub(super) fn query_conditions(
    nvml: &Arc<dyn Nvml>,
    job: Job,
    gpus: Vec<u32>,
    events: &UnboundedSender<Event>,
) -> JobId {
    let id = job.id();
    let nvml = GuardedDriver::new(Arc::clone(nvml), job);
    spawn_query(events, move |events| {
        for gpu in gpus {
            events(Event::Probed(id, gpu, nvml.condition(gpu)));
        }
    });
    id
}

fn spawn_query(
    events: &UnboundedSender<Event>,
    query: impl FnOnce(&dyn Fn(Event)) + Send + 'static,
) {
    let events = events.clone();
    tokio::task::spawn_blocking(move || {
        query(&|event| {
            // The daemon has shut down.
            let _ = events.send(event);
        });
    });
}
