//! Everything that can happen to the daemon.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::config::{ConfigError, NodeConfig};
use crate::device::Inventory;
use crate::health::WatchReport;
use crate::host::HostFiles;
use crate::nvml::{Condition, Nvml, NvmlError};
use crate::plugin::PluginEvent;

/// Everything that can happen.
pub enum Event {
    /// The driver was tried to be opened.
    Opened(Result<Arc<dyn Nvml>, NvmlError>),
    /// The GPUs and the files of the node were read.
    Scanned(Result<(Inventory, HostFiles), NvmlError>),
    /// The one who watches the driver has something to say.
    Watch(WatchReport),
    /// A GPU was asked how it is, by index.
    Probed(u32, Result<Condition, NvmlError>),
    /// The configuration has other contents.
    Config(Result<NodeConfig, ConfigError>),
    /// Something happened between a plugin and the kubelet.
    Plugin(PluginEvent),
    /// Somebody wants the GPUs to be read anew.
    Rescan,
    /// Somebody wants to know whether the loop turns.
    Pulse(oneshot::Sender<()>),
    /// The process is to end.
    Shutdown(&'static str),
}
