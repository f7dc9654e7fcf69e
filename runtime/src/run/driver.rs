//! Driver calls, each on a blocking thread. Results arrive as events.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gpuc_schema::node_config::DeviceInjection;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Event;
use crate::cdi;
use crate::device::{Inventory, discover};
use crate::driver_files::DriverFiles;
use crate::health::WatchReport;
use crate::host::{HostFiles, Roots};
use crate::nvml::fake::Fake;
use crate::nvml::{Nvml, NvmlError, Real, watcher};
use crate::publish::cdi_file;
use crate::state::State;

/// Opens the driver and reads the node's files.
#[derive(Clone)]
pub struct DriverLoader {
    roots: Roots,
    fake: Option<Fake>,
}

impl DriverLoader {
    /// Creates a loader of the real driver below the roots, or of a simulated one.
    pub fn new(roots: Roots, fake: Option<Fake>) -> Self {
        Self { roots, fake }
    }

    /// Opens the driver.
    pub(super) fn open(&self, events: &UnboundedSender<Event>) {
        let loader = self.clone();
        spawn_query(events, move || Event::Opened(loader.open_driver()));
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
        before: Arc<Inventory>,
        host_root: &str,
        events: &UnboundedSender<Event>,
    ) {
        let nvml = Arc::clone(nvml);
        let roots = self.roots.clone();
        let host_root = host_root.to_owned();
        spawn_query(events, move || {
            let inventory = discover(&*nvml, &roots, Some(&before));
            Event::Scanned(inventory.map(|inventory| {
                let files = HostFiles::read(&roots, &host_root, &inventory);
                (inventory, files)
            }))
        });
    }

    /// Writes the CDI specs of a state if containers receive devices through CDI. Returns the error message if writing
    /// fails.
    pub(super) fn write_specs(&self, state: &State) -> Result<(), String> {
        let DeviceInjection::Cdi { spec_dir, .. } = &state.config.devices else {
            return Ok(());
        };
        let version = &state.inventory.driver.version;
        let files = DriverFiles::read(&self.roots.driver, version);
        let specs = cdi::specs(&state.config, &state.inventory, &state.files, &files);
        cdi_file::write(&PathBuf::from(spec_dir), &specs)
            .map(drop)
            .map_err(|error| format!("cannot write CDI specs to {spec_dir}: {error}"))
    }
}

/// Queries the condition of a GPU.
pub(super) fn probe(nvml: &Arc<dyn Nvml>, gpu: u32, events: &UnboundedSender<Event>) {
    let nvml = Arc::clone(nvml);
    spawn_query(events, move || Event::Probed(gpu, nvml.condition(gpu)));
}

/// Monitors the driver; reports arrive as events.
pub(super) fn watch(
    nvml: &Arc<dyn Nvml>,
    events: &UnboundedSender<Event>,
) -> io::Result<watcher::WatcherHandle> {
    let (sender, mut reports) = unbounded_channel::<WatchReport>();
    let events = events.clone();
    tokio::spawn(async move {
        while let Some(report) = reports.recv().await {
            if events.send(Event::Watch(report)).is_err() {
                return;
            }
        }
    });
    watcher::spawn(Arc::clone(nvml), sender)
}

fn spawn_query(events: &UnboundedSender<Event>, question: impl FnOnce() -> Event + Send + 'static) {
    let events = events.clone();
    tokio::task::spawn_blocking(move || {
        // The daemon has shut down.
        let _ = events.send(question());
    });
}
