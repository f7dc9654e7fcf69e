//! The device plugins of a node, one per advertised resource: created, registered and closed as the state and the
//! kubelet change.
//!
//! One task owns them. After each event it reconciles the desired state with the actual one: a socket for each
//! advertised resource, and a registration for each socket with each kubelet instance. The order and number of events
//! therefore do not matter.
//!
//! For a removed resource, the plugin sends an empty list, then its server ends. The kubelet sets its capacity to 0 at
//! once and removes it five minutes after the end (`endpointStopGracePeriod` in kubernetes/kubernetes
//! pkg/kubelet/cm/devicemanager/types.go). Without the empty list, its last devices would count as capacity until then;
//! without the end, it would stay on the node with 0 indefinitely.
//!
//! A plugin whose socket is removed binds it again and does not register: the kubelet's connection outlives the file.
//! If the client disconnects while the kubelet is running, the kubelet dropped the plugin, and it registers again. The
//! same happens if the kubelet accepts a registration and does not call ListAndWatch.
//!
//! The kubelet must be 1.26 or later: earlier ones send the socket's path as `:authority`, which RFC 3986 does not
//! allow, and HTTP/2 libraries that check it refuse the request (kubernetes/kubernetes#112597).

mod connection;
mod lifecycle;
mod server;
mod socket;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};

use crate::allocate::ContainerAllocation;
use crate::device::AdvertisedResource;
use crate::kubelet::KUBELET_SOCKET;
use crate::kubelet::watch::{FolderState, FolderWatch};
use crate::state::State;

pub use server::{HEALTHY, UNHEALTHY, device_list};
pub use socket::file_name;

use lifecycle::{ResourcePlugin, TaskMessage};

/// How long lists may take to end during shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// Allocates devices. It is called while a pod waits: it must neither block nor call the driver.
pub trait AllocationHandler: Send + Sync {
    /// Returns the configuration of a container that uses these devices.
    fn allocate(
        &self,
        state: &State,
        advertised: &AdvertisedResource,
        ids: &[String],
    ) -> Result<ContainerAllocation, AllocationRejection>;

    /// Returns the best `size` of the available devices, including those that must be included.
    fn preferred_devices(
        &self,
        state: &State,
        advertised: &AdvertisedResource,
        available: &[String],
        must_include: &[String],
        size: usize,
    ) -> Vec<String>;
}

/// Why an allocation is refused. The message names the devices and appears in an event of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationRejection {
    /// Invalid request: unknown or repeated devices.
    Invalid(String),
    /// The devices cannot be used now.
    Unusable(String),
}

/// An event of a plugin. It is already logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginEvent {
    /// The socket of a resource is listening.
    Bound {
        /// The resource.
        resource: String,
    },
    /// The socket of a resource cannot be created; it is retried.
    NotBound {
        /// The resource.
        resource: String,
        /// The error.
        error: String,
    },
    /// The socket file of a resource was removed; it is recreated.
    SocketLost {
        /// The resource.
        resource: String,
    },
    /// Another process is listening on the socket. The newest plugin wins: this one waits until the other one ends.
    SocketTaken {
        /// The resource.
        resource: String,
    },
    /// The resource is registered with the kubelet.
    Registered {
        /// The resource.
        resource: String,
        /// The number of the kubelet instance, from 1 on.
        kubelet_instance: u64,
    },
    /// The kubelet refused the registration or did not respond; it is retried.
    NotRegistered {
        /// The resource.
        resource: String,
        /// The error.
        error: String,
    },
    /// The kubelet is running but dropped the plugin; it is registered again.
    DroppedByKubelet {
        /// The resource.
        resource: String,
    },
    /// The kubelet accepted the registration but does not call ListAndWatch; the plugin is registered again.
    NotWatched {
        /// The resource.
        resource: String,
    },
    /// The registration status of a resource changed.
    RegistrationChanged {
        /// The resource.
        resource: String,
        /// Whether a running kubelet accepted it and watches its devices.
        is_registered: bool,
    },
    /// The node no longer advertises the resource.
    Closed {
        /// The resource.
        resource: String,
    },
}

/// The settings of the plugins.
pub struct Setup {
    /// The kubelet's device plugin directory: [`crate::kubelet::DEVICE_PLUGIN_FOLDER`].
    pub folder: PathBuf,
    /// The state of the node.
    pub state: watch::Receiver<Arc<State>>,
    /// Allocates devices.
    pub handler: Arc<dyn AllocationHandler>,
    /// Receives all events, for counters and readiness. The channel is unbounded so that the plugins never wait. It
    /// stays short: one task fills it with small messages, and each message wakes the receiver.
    pub events: mpsc::UnboundedSender<PluginEvent>,
}

/// The plugins of a node. Dropping this ends them and removes their sockets asynchronously; `stop` does so before it
/// returns.
#[derive(Debug)]
pub struct Plugins {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Plugins {
    /// Starts serving the advertised resources. Must be called on a tokio runtime.
    pub fn start(setup: Setup) -> Self {
        let (stop, stopped) = watch::channel(false);
        let watch = FolderWatch::start(&setup.folder);
        let (sender, messages) = mpsc::unbounded_channel();
        let set = PluginSet {
            setup,
            watch,
            messages,
            message_sender: sender,
            plugins: BTreeMap::new(),
            created_count: 0,
            missing_kubelet: None,
        };
        let task = tokio::spawn(set.run(stopped));
        Self { stop, task }
    }

    /// Waits until the plugins end by themselves: when the state has no publisher any more, or after a panic.
    pub async fn wait_until_ended(&mut self) -> Result<(), JoinError> {
        (&mut self.task).await
    }

    /// Ends all lists and removes all sockets.
    pub async fn stop(self) -> Result<(), JoinError> {
        self.stop.send_replace(true);
        self.task.await
    }
}

struct PluginSet {
    setup: Setup,
    watch: FolderWatch,
    messages: mpsc::UnboundedReceiver<TaskMessage>,
    message_sender: mpsc::UnboundedSender<TaskMessage>,
    plugins: BTreeMap<String, ResourcePlugin>,
    /// Number of plugins created so far: distinguishes plugins of one resource.
    created_count: u64,
    /// The last reported missing part of the kubelet.
    missing_kubelet: Option<MissingKubelet>,
}

/// The missing part of the kubelet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingKubelet {
    Folder,
    Socket,
}

impl PluginSet {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            let next_check = self.reconcile().await;
            tokio::select! {
                // Polled in order of importance.
                biased;
                _ = stopped.changed() => break,
                changed = self.setup.state.changed() => if changed.is_err() { break },
                changed = self.watch.folder.changed() => if changed.is_err() { break },
                Some(message) = self.messages.recv() => self.process_message(message),
                () = sleep_until(next_check.unwrap_or_else(Instant::now)), if next_check.is_some() => {}
            }
        }
        let shutdowns = self.plugins.into_values().map(ResourcePlugin::shut_down);
        let ends: Vec<_> = shutdowns.collect();
        let all_shutdowns = async {
            for end in ends {
                end.await;
            }
        };
        // Connections that take longer end with the process.
        let _ = timeout(SHUTDOWN_TIMEOUT, all_shutdowns).await;
    }

    /// Reconciles the plugins with the state. Returns when to check again without an event.
    async fn reconcile(&mut self) -> Option<Instant> {
        let state = Arc::clone(&self.setup.state.borrow_and_update());
        let folder = *self.watch.folder.borrow_and_update();
        let removed = self.plugins.extract_if(.., |resource, _| {
            state.advertised_resource(resource).is_none()
        });
        for (resource, plugin) in removed {
            tracing::info!(resource, "the node no longer advertises this resource");
            plugin.close();
            // A missing receiver is no reason to stop.
            let _ = self.setup.events.send(PluginEvent::Closed { resource });
        }
        for resource in &state.advertised_resources {
            if !self.plugins.contains_key(&resource.resource) {
                self.created_count += 1;
                let plugin = ResourcePlugin::new(
                    &resource.resource,
                    self.created_count,
                    &self.setup,
                    self.message_sender.clone(),
                );
                self.plugins.insert(resource.resource.clone(), plugin);
            }
        }
        self.log_missing_kubelet(folder);
        let mut next_check: Option<Instant> = None;
        for plugin in self.plugins.values_mut() {
            let plugin_check = plugin.reconcile(folder).await;
            next_check = [next_check, plugin_check].into_iter().flatten().min();
        }
        next_check
    }

    /// Logs what is missing of the kubelet, for a daemon that was started in the wrong place. Without advertised
    /// resources, nothing is missing.
    fn log_missing_kubelet(&mut self, folder: FolderState) {
        let missed = match folder {
            _ if self.plugins.is_empty() => return,
            FolderState { present: false, .. } => Some(MissingKubelet::Folder),
            FolderState { kubelet: None, .. } => Some(MissingKubelet::Socket),
            FolderState { .. } => None,
        };
        if missed == self.missing_kubelet {
            return;
        }
        self.missing_kubelet = missed;
        let folder = self.setup.folder.display();
        match missed {
            Some(MissingKubelet::Folder) => {
                tracing::warn!("waiting for the kubelet: directory {folder} does not exist");
            }
            Some(MissingKubelet::Socket) => {
                tracing::info!("waiting for the kubelet: no {KUBELET_SOCKET} in {folder}");
            }
            None => {}
        }
    }

    /// Processes a message. Messages of closed plugins are ignored.
    fn process_message(&mut self, message: TaskMessage) {
        if let Some(plugin) = self
            .plugins
            .values_mut()
            .find(|it| it.has_number(message.plugin))
        {
            plugin.process_message(message.kind);
        }
    }
}
