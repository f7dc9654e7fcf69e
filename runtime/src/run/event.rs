//! The events of the daemon.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::config::{ConfigError, LoadedConfig};
use crate::device::Inventory;
use crate::host::HostFiles;
use crate::nvml::guard::{JobId, Subject};
use crate::nvml::{Condition, Nvml, NvmlError};
use crate::plugin::PluginEvent;

/// An event that the daemon reacts to.
pub enum Event {
    /// The attempt to open the driver finished.
    Opened(JobId, Result<Arc<dyn Nvml>, NvmlError>),
    /// The discovery of GPUs and files finished.
    Scanned(JobId, Result<(Inventory, HostFiles), NvmlError>),
    /// The condition of a GPU, by index, was queried.
    Probed(JobId, u32, Result<Condition, NvmlError>),
    /// A driver call that was overdue has returned.
    Returned(Subject),
    /// The configuration file changed.
    Config(Result<LoadedConfig, ConfigError>),
    /// A device plugin reported an event.
    Plugin(PluginEvent),
    /// A rediscovery of the GPUs was requested.
    Rescan,
    /// A liveness probe checks whether the event loop is running.
    Liveness(oneshot::Sender<()>),
    /// The process shuts down.
    Shutdown(&'static str),
}
