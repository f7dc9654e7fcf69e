//! The lifecycle of one plugin: one server, a socket that is recreated when it is removed, and one registration per
//! kubelet instance.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use super::connection::Connection;
use super::server::{Service, StopSignal};
use super::socket::{Socket, SocketState, file_name, is_alive};
use super::{PluginEvent, Setup};
use crate::kubelet::KUBELET_SOCKET;
use crate::kubelet::api::v1beta1::device_plugin_server::DevicePluginServer;
use crate::kubelet::register::{RegistrationAttempt, register};
use crate::kubelet::watch::{FolderState, KubeletInstance};

/// Message size limit. A list of all devices of a node has some 20 KiB; the kubelet never requests more than that.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;

/// Delay before a socket that could not be created is retried, unless the directory changes first.
const BIND_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Interval at which another process on the socket is checked.
const SOCKET_TAKEN_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How long a plugin without a ListAndWatch client waits for the kubelet to stop or to return before it registers
/// again; doubled each time, to limit the load on a kubelet that drops every list.
const MIN_NO_CLIENT_DELAY: Duration = Duration::from_secs(1);
const MAX_NO_CLIENT_DELAY: Duration = Duration::from_mins(1);

/// How long the kubelet may take from the acceptance of a registration to ListAndWatch. It connects before it accepts,
/// and calls at once after it (`server.Register` in kubernetes/kubernetes
/// pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, read 2026-11-26).
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the server of a removed resource may take to shut down.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A message of a plugin's tasks.
pub(super) struct TaskMessage {
    /// The plugin's number.
    pub(super) plugin: u64,
    pub(super) kind: TaskMessageKind,
}

pub(super) enum TaskMessageKind {
    /// The result of a registration attempt with a kubelet instance.
    Registration(u64, RegistrationAttempt),
    /// A ListAndWatch client connected, and there was none before.
    FirstClientConnected,
    /// The last ListAndWatch client disconnected.
    LastClientGone,
}

pub(super) struct ResourcePlugin {
    number: u64,
    resource: String,
    endpoint: String,
    folder: PathBuf,
    socket: SocketPlacement,
    /// Why the last attempt to create the socket failed.
    bind_error: Option<String>,
    connections: mpsc::Sender<io::Result<Connection>>,
    clients: watch::Receiver<usize>,
    ending: watch::Sender<StopSignal>,
    server: JoinHandle<()>,
    registration: Registration,
    /// Why the last registration failed; logged once.
    rejection: Option<String>,
    client_absence: ClientAbsence,
    /// Whether the plugin last reported that a running kubelet watches it.
    reported_registered: bool,
    events: mpsc::UnboundedSender<PluginEvent>,
    messages: mpsc::UnboundedSender<TaskMessage>,
}

/// The state of the plugin's socket.
enum SocketPlacement {
    /// No socket: not created yet, the directory is missing, or binding failed.
    NotBound,
    /// The socket is listening.
    Bound(Socket),
    /// Another process is listening there; it is checked periodically.
    Taken,
}

/// The state of the registration with the kubelet.
enum Registration {
    None,
    /// In progress, with this kubelet instance.
    Running {
        instance: u64,
        _task: AbortOnDrop,
    },
    /// Registered, with this kubelet instance.
    Done(u64),
}

/// How long no client has been connected during a kubelet instance.
struct ClientAbsence {
    instance: u64,
    /// When to register again if no client connects until then.
    register_at: Option<Instant>,
    /// The next delay.
    next_delay: Duration,
    /// Since when a client has been connected.
    connected_since: Option<Instant>,
    /// Whether a client has connected since the registration.
    was_connected: bool,
}

impl ClientAbsence {
    fn for_instance(life: u64) -> Self {
        Self {
            instance: life,
            register_at: None,
            next_delay: MIN_NO_CLIENT_DELAY,
            connected_since: None,
            was_connected: false,
        }
    }
}

impl ResourcePlugin {
    /// Creates a plugin whose server is running and whose socket does not exist yet.
    pub(super) fn new(
        resource: &str,
        number: u64,
        setup: &Setup,
        messages: mpsc::UnboundedSender<TaskMessage>,
    ) -> Self {
        let (ending, ended) = watch::channel(StopSignal::KeepRunning);
        let (listening, listeners) = watch::channel(0);
        let service = Service {
            resource: resource.into(),
            state: setup.state.clone(),
            handler: Arc::clone(&setup.handler),
            stop_signal: ended.clone(),
            clients: listening,
        };
        let (connections, incoming) = mpsc::channel(16);
        let server = tokio::spawn(serve(service, incoming, ended));
        tokio::spawn(report_clients(listeners.clone(), number, messages.clone()));
        Self {
            number,
            resource: resource.to_owned(),
            endpoint: file_name(resource),
            folder: setup.folder.clone(),
            socket: SocketPlacement::NotBound,
            bind_error: None,
            connections,
            clients: listeners,
            ending,
            server,
            registration: Registration::None,
            rejection: None,
            client_absence: ClientAbsence::for_instance(0),
            reported_registered: false,
            events: setup.events.clone(),
            messages,
        }
    }

    pub(super) fn has_number(&self, number: u64) -> bool {
        self.number == number
    }

    /// Reconciles socket and registration with the state of the directory. Returns when to check again without an
    /// event.
    pub(super) async fn reconcile(&mut self, folder: FolderState) -> Option<Instant> {
        let mut next_check = self.reconcile_socket(folder).await;
        let bound = matches!(self.socket, SocketPlacement::Bound(_));
        match folder.kubelet.filter(|_| bound) {
            None => self.registration = Registration::None,
            Some(life) => {
                self.register_again_without_clients(life).await;
                self.reconcile_registration(life);
                next_check = next_check.or(self.client_absence.register_at);
            }
        }
        self.publish_registration();
        next_check
    }

    /// Reports changes of the registration. The kubelet uses the devices only while it watches them.
    fn publish_registration(&mut self) {
        let accepted = matches!(self.registration, Registration::Done(_));
        let known = accepted && *self.clients.borrow() > 0;
        if known != self.reported_registered {
            self.reported_registered = known;
            self.send_event(PluginEvent::RegistrationChanged {
                resource: self.resource.clone(),
                is_registered: known,
            });
        }
    }

    async fn reconcile_socket(&mut self, folder: FolderState) -> Option<Instant> {
        let path = self.folder.join(&self.endpoint);
        if !folder.present {
            self.socket = SocketPlacement::NotBound;
            return None;
        }
        match &self.socket {
            SocketPlacement::Bound(socket) => match socket.state() {
                SocketState::Owned => return None,
                SocketState::Replaced if is_alive(&path).await => {
                    tracing::warn!(
                        resource = self.resource,
                        "another process is listening on {}; waiting until it ends",
                        path.display()
                    );
                    self.send_event(PluginEvent::SocketTaken {
                        resource: self.resource.clone(),
                    });
                    self.socket = SocketPlacement::Taken;
                    return Some(Instant::now() + SOCKET_TAKEN_CHECK_INTERVAL);
                }
                SocketState::Replaced | SocketState::Missing => {
                    tracing::info!(
                        resource = self.resource,
                        "{} was removed; recreating it",
                        path.display()
                    );
                    self.send_event(PluginEvent::SocketLost {
                        resource: self.resource.clone(),
                    });
                }
            },
            SocketPlacement::Taken if is_alive(&path).await => {
                return Some(Instant::now() + SOCKET_TAKEN_CHECK_INTERVAL);
            }
            SocketPlacement::NotBound | SocketPlacement::Taken => {}
        }
        match Socket::bind(path.clone(), self.connections.clone()) {
            Ok(socket) => {
                if self.bind_error.take().is_some() || matches!(self.socket, SocketPlacement::Taken)
                {
                    let path = path.display();
                    tracing::info!(resource = self.resource, "listening on {path} again");
                }
                self.socket = SocketPlacement::Bound(socket);
                self.send_event(PluginEvent::Bound {
                    resource: self.resource.clone(),
                });
                None
            }
            Err(error) => {
                let reason = format!("{}: {error}", path.display());
                if self.bind_error.as_ref() == Some(&reason) {
                    tracing::debug!(resource = self.resource, "still cannot listen on {reason}");
                } else {
                    tracing::warn!(
                        resource = self.resource,
                        "cannot listen on {reason}; retrying"
                    );
                    self.bind_error = Some(reason.clone());
                }
                self.socket = SocketPlacement::NotBound;
                self.send_event(PluginEvent::NotBound {
                    resource: self.resource.clone(),
                    error: reason,
                });
                Some(Instant::now() + BIND_RETRY_DELAY)
            }
        }
    }

    fn reconcile_registration(&mut self, life: KubeletInstance) {
        match self.registration {
            Registration::Running {
                instance: attempted,
                ..
            }
            | Registration::Done(attempted)
                if attempted == life.number =>
            {
                return;
            }
            _ => {}
        }
        let (messages, plugin) = (self.messages.clone(), self.number);
        let report = move |attempt| {
            let kind = TaskMessageKind::Registration(life.number, attempt);
            // The receiver is gone during shutdown.
            let _ = messages.send(TaskMessage { plugin, kind });
        };
        let socket = self.folder.join(KUBELET_SOCKET);
        let (resource, endpoint) = (self.resource.clone(), self.endpoint.clone());
        let task = tokio::spawn(async move {
            register(&socket, life, &resource, &endpoint, report).await;
        });
        self.registration = Registration::Running {
            instance: life.number,
            _task: AbortOnDrop(task.abort_handle()),
        };
    }

    /// Registers again if the kubelet dropped the list, or never asked for it: it then considers all devices unhealthy,
    /// or has none, and waits for a registration.
    async fn register_again_without_clients(&mut self, life: KubeletInstance) {
        if self.client_absence.instance != life.number {
            self.client_absence = ClientAbsence::for_instance(life.number);
        }
        let Some(until) = self.client_absence.register_at else {
            return;
        };
        let done = matches!(self.registration, Registration::Done(_));
        if *self.clients.borrow() > 0 || !done {
            self.client_absence.register_at = None;
            return;
        }
        if Instant::now() < until {
            return;
        }
        self.client_absence.next_delay =
            (self.client_absence.next_delay * 2).min(MAX_NO_CLIENT_DELAY);
        if !is_alive(&self.folder.join(KUBELET_SOCKET)).await {
            // The kubelet ended and did not remove its socket; the next instance creates its own.
            self.client_absence.register_at = Some(Instant::now() + self.client_absence.next_delay);
            return;
        }
        let resource = self.resource.clone();
        if self.client_absence.was_connected {
            tracing::warn!(
                resource,
                "the kubelet is running but stopped watching; registering again"
            );
            self.send_event(PluginEvent::DroppedByKubelet { resource });
        } else {
            tracing::warn!(
                resource,
                "the kubelet does not watch the devices although it accepted the registration; registering again"
            );
            self.send_event(PluginEvent::NotWatched { resource });
        }
        self.registration = Registration::None;
        self.client_absence.register_at = None;
    }

    /// Sets when to register again, from the acceptance of a registration without a client.
    fn await_client(&mut self) {
        let is_connected = *self.clients.borrow() > 0;
        self.client_absence.was_connected = is_connected;
        if !is_connected {
            let delay = self.client_absence.next_delay.max(LIST_TIMEOUT);
            self.client_absence.register_at = Some(Instant::now() + delay);
        }
    }

    /// Processes a message of a task; `reconcile` applies the consequences.
    pub(super) fn process_message(&mut self, kind: TaskMessageKind) {
        match kind {
            TaskMessageKind::Registration(life, attempt) => {
                // Messages of an abandoned attempt may still arrive.
                let is_current = |running: u64| running == life;
                if !matches!(self.registration, Registration::Running { instance, .. } if is_current(instance))
                {
                    return;
                }
                let resource = self.resource.clone();
                match attempt {
                    RegistrationAttempt::Registered => {
                        tracing::info!(resource, "registered with the kubelet");
                        self.registration = Registration::Done(life);
                        self.rejection = None;
                        self.await_client();
                        self.send_event(PluginEvent::Registered {
                            resource,
                            kubelet_instance: life,
                        });
                    }
                    RegistrationAttempt::Rejected(reason) => {
                        if self.rejection.as_ref() == Some(&reason) {
                            tracing::debug!(resource, "registration still fails: {reason}");
                        } else {
                            tracing::warn!(
                                resource,
                                "registration with the kubelet failed: {reason}; retrying"
                            );
                            self.rejection = Some(reason.clone());
                        }
                        self.send_event(PluginEvent::NotRegistered {
                            resource,
                            error: reason,
                        });
                    }
                }
            }
            TaskMessageKind::FirstClientConnected => {
                self.client_absence.connected_since = Some(Instant::now());
                self.client_absence.was_connected = true;
            }
            TaskMessageKind::LastClientGone => {
                let since = self.client_absence.connected_since.take();
                if since.is_some_and(|since| since.elapsed() > MAX_NO_CLIENT_DELAY) {
                    self.client_absence.next_delay = MIN_NO_CLIENT_DELAY;
                }
                if matches!(self.registration, Registration::Done(_)) {
                    self.client_absence.register_at =
                        Some(Instant::now() + self.client_absence.next_delay);
                }
            }
        }
    }

    /// Ends the plugin of a removed resource: sends an empty list to the clients, then shuts down.
    pub(super) fn close(self) {
        let server = self.stop_server(StopSignal::ResourceRemoved);
        tokio::spawn(async move {
            let abort = server.abort_handle();
            if timeout(CLOSE_TIMEOUT, server).await.is_err() {
                abort.abort();
            }
        });
    }

    /// Shuts down with the daemon. The socket is removed when this returns; connections end when their calls are done.
    pub(super) fn shut_down(self) -> impl Future<Output = ()> {
        let server = self.stop_server(StopSignal::DaemonShutdown);
        async move {
            // A server that panicked has ended as well.
            let _ = server.await;
        }
    }

    fn stop_server(self, ending: StopSignal) -> JoinHandle<()> {
        drop(self.registration);
        drop(self.socket);
        self.ending.send_replace(ending);
        // Lists end on this signal; until then they keep the channel open.
        self.server
    }

    fn send_event(&self, event: PluginEvent) {
        // The receiver may be gone.
        let _ = self.events.send(event);
    }
}

async fn serve(
    service: Service,
    incoming: mpsc::Receiver<io::Result<Connection>>,
    mut ending: watch::Receiver<StopSignal>,
) {
    let server = DevicePluginServer::new(service).max_decoding_message_size(MAX_REQUEST_BYTES);
    let ended = async move {
        // A plugin that was dropped without a signal has ended as well.
        let _ = ending
            .wait_for(|ending| *ending != StopSignal::KeepRunning)
            .await;
    };
    let incoming = ReceiverStream::new(incoming);
    let served = Server::builder().serve_with_incoming_shutdown(server, incoming, ended);
    if let Err(error) = served.await {
        tracing::error!("a device plugin server failed: {error}");
    }
}

/// Sends a message each time the first client connects or the last one disconnects.
async fn report_clients(
    mut clients: watch::Receiver<usize>,
    plugin: u64,
    messages: mpsc::UnboundedSender<TaskMessage>,
) {
    let mut is_connected = false;
    while clients
        .wait_for(|count| (*count > 0) != is_connected)
        .await
        .is_ok()
    {
        is_connected = !is_connected;
        let kind = if is_connected {
            TaskMessageKind::FirstClientConnected
        } else {
            TaskMessageKind::LastClientGone
        };
        if messages.send(TaskMessage { plugin, kind }).is_err() {
            return;
        }
    }
}

/// A task that is aborted on drop.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
