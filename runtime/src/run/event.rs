//! The events of the daemon.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::config::{ConfigError, NodeConfig};
use crate::device::Inventory;
use crate::health::WatchReport;
use crate::host::HostFiles;
use crate::nvml::{Condition, Nvml, NvmlError};
use crate::plugin::PluginEvent;

/// An event that the daemon reacts to.
pub enum Event {
    /// The attempt to open the driver finished.
    Opened(Result<Arc<dyn Nvml>, NvmlError>),
    /// The discovery of GPUs and files finished.
    Scanned(Result<(Inventory, HostFiles), NvmlError>),
    /// The driver monitoring sent a report.
    Watch(WatchReport),
    /// The condition of a GPU, by index, was queried.
    Probed(u32, Result<Condition, NvmlError>),
    /// The configuration file changed.
    Config(Result<NodeConfig, ConfigError>),
    /// A device plugin reported an event.
    Plugin(PluginEvent),
    /// A rediscovery of the GPUs was requested.
    Rescan,
    /// A liveness probe checks whether the event loop is running.
    Liveness(oneshot::Sender<()>),
    /// The process shuts down.
    Shutdown(&'static str),
}
