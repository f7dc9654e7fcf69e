//! The lifecycle of one plugin: one server, a socket that is recreated when it is removed, and one registration per
//! kubelet instance.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use super::server::{Ending, Service};
use super::socket::{Socket, SocketState, file_name, is_alive};
use super::{PluginEvent, Setup};
use crate::kubelet::SOCKET;
use crate::kubelet::api::v1beta1::device_plugin_server::DevicePluginServer;
use crate::kubelet::register::{Attempt, register};
use crate::kubelet::watch::{Folder, Life};

/// Message size limit. A list of all devices of a node has some 20 KiB; the kubelet never requests more than that.
const LARGEST_REQUEST: usize = 1024 * 1024;

/// Delay before a socket that could not be created is retried, unless the directory changes first.
const BIND_AGAIN: Duration = Duration::from_secs(1);

/// Interval at which another process on the socket is checked.
const LOOK_AT_TAKER: Duration = Duration::from_secs(5);

/// How long a plugin without a ListAndWatch client waits for the kubelet to stop or to return before it registers
/// again; doubled each time, to limit the load on a kubelet that drops every list.
const FIRST_SILENCE: Duration = Duration::from_secs(1);
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// How long the server of a removed resource may take to shut down.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A message of a plugin's tasks.
pub(super) struct News {
    /// The plugin's number.
    pub(super) plugin: u64,
    pub(super) what: What,
}

pub(super) enum What {
    /// The result of a registration attempt with a kubelet instance.
    Registration(u64, Attempt),
    /// The last ListAndWatch client disconnected.
    Unheard,
}

pub(super) struct Plugin {
    number: u64,
    resource: String,
    endpoint: String,
    folder: PathBuf,
    place: Place,
    /// Why the last attempt to create the socket failed.
    trouble: Option<String>,
    connections: mpsc::Sender<io::Result<UnixStream>>,
    listeners: watch::Receiver<usize>,
    ending: watch::Sender<Ending>,
    server: JoinHandle<()>,
    registration: Registration,
    silence: Silence,
    /// Whether the plugin last reported that it is registered with a running kubelet.
    known: bool,
    events: mpsc::UnboundedSender<PluginEvent>,
    news: mpsc::UnboundedSender<News>,
}

/// The state of the plugin's socket.
enum Place {
    /// No socket: not created yet, the directory is missing, or binding failed.
    Nowhere,
    /// The socket is listening.
    At(Socket),
    /// Another process is listening there; it is checked periodically.
    Taken,
}

/// The state of the registration with the kubelet.
enum Registration {
    None,
    /// In progress, with this kubelet instance.
    Running {
        life: u64,
        _task: AbortOnDrop,
    },
    /// Registered, with this kubelet instance.
    Done(u64),
}

/// How long no client has been connected during a kubelet instance.
struct Silence {
    life: u64,
    /// When to register again if no client connects until then.
    until: Option<Instant>,
    /// The next delay.
    next: Duration,
    /// Whether the kubelet's socket refuses connections as well.
    dead: bool,
}

impl Silence {
    fn in_life(life: u64) -> Self {
        Self {
            life,
            until: None,
            next: FIRST_SILENCE,
            dead: false,
        }
    }
}

impl Plugin {
    /// Creates a plugin whose server is running and whose socket does not exist yet.
    pub(super) fn new(
        resource: &str,
        number: u64,
        setup: &Setup,
        news: mpsc::UnboundedSender<News>,
    ) -> Self {
        let (ending, ended) = watch::channel(Ending::No);
        let (listening, listeners) = watch::channel(0);
        let service = Service {
            resource: resource.into(),
            state: setup.state.clone(),
            answers: Arc::clone(&setup.answers),
            ending: ended.clone(),
            listeners: listening,
        };
        let (connections, incoming) = mpsc::channel(16);
        let server = tokio::spawn(serve(service, incoming, ended));
        tokio::spawn(notify_on_disconnect(
            listeners.clone(),
            number,
            news.clone(),
        ));
        Self {
            number,
            resource: resource.to_owned(),
            endpoint: file_name(resource),
            folder: setup.folder.clone(),
            place: Place::Nowhere,
            trouble: None,
            connections,
            listeners,
            ending,
            server,
            registration: Registration::None,
            silence: Silence::in_life(0),
            known: false,
            events: setup.events.clone(),
            news,
        }
    }

    pub(super) fn is(&self, number: u64) -> bool {
        self.number == number
    }

    /// Reconciles socket and registration with the state of the directory. Returns when to check again without an
    /// event.
    pub(super) async fn settle(&mut self, folder: Folder) -> Option<Instant> {
        let mut again = self.settle_place(folder).await;
        let bound = matches!(self.place, Place::At(_));
        match folder.kubelet.filter(|_| bound) {
            None => self.registration = Registration::None,
            Some(life) => {
                self.register_again_when_unheard(life).await;
                self.settle_registration(life);
                again = again.or(self.silence.until);
            }
        }
        self.publish_registration();
        again
    }

    /// Reports changes of the registration. A kubelet that was killed leaves its socket and receives nothing.
    fn publish_registration(&mut self) {
        let registered = matches!(self.registration, Registration::Done(_));
        let known = registered && !self.silence.dead;
        if known != self.known {
            self.known = known;
            self.tell(PluginEvent::Known {
                resource: self.resource.clone(),
                known,
            });
        }
    }

    async fn settle_place(&mut self, folder: Folder) -> Option<Instant> {
        let path = self.folder.join(&self.endpoint);
        if !folder.present {
            self.place = Place::Nowhere;
            return None;
        }
        match &self.place {
            Place::At(socket) => match socket.standing() {
                SocketState::Ours => return None,
                SocketState::Replaced if is_alive(&path).await => {
                    tracing::warn!(
                        resource = self.resource,
                        "another process is listening on {}; waiting until it ends",
                        path.display()
                    );
                    self.tell(PluginEvent::SocketTaken {
                        resource: self.resource.clone(),
                    });
                    self.place = Place::Taken;
                    return Some(Instant::now() + LOOK_AT_TAKER);
                }
                SocketState::Replaced | SocketState::Gone => {
                    tracing::info!(
                        resource = self.resource,
                        "{} was removed; recreating it",
                        path.display()
                    );
                    self.tell(PluginEvent::SocketLost {
                        resource: self.resource.clone(),
                    });
                }
            },
            Place::Taken if is_alive(&path).await => {
                return Some(Instant::now() + LOOK_AT_TAKER);
            }
            Place::Nowhere | Place::Taken => {}
        }
        match Socket::bind(path.clone(), self.connections.clone()) {
            Ok(socket) => {
                if self.trouble.take().is_some() || matches!(self.place, Place::Taken) {
                    let path = path.display();
                    tracing::info!(resource = self.resource, "listening on {path} again");
                }
                self.place = Place::At(socket);
                self.tell(PluginEvent::Bound {
                    resource: self.resource.clone(),
                });
                None
            }
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                if self.trouble.as_ref() == Some(&why) {
                    tracing::debug!(resource = self.resource, "still cannot listen on {why}");
                } else {
                    tracing::warn!(resource = self.resource, "cannot listen on {why}; retrying");
                    self.trouble = Some(why.clone());
                }
                self.place = Place::Nowhere;
                self.tell(PluginEvent::NotBound {
                    resource: self.resource.clone(),
                    why,
                });
                Some(Instant::now() + BIND_AGAIN)
            }
        }
    }

    fn settle_registration(&mut self, life: Life) {
        match self.registration {
            Registration::Running {
                life: attempted, ..
            }
            | Registration::Done(attempted)
                if attempted == life.number =>
            {
                return;
            }
            _ => {}
        }
        let (news, plugin) = (self.news.clone(), self.number);
        let report = move |attempt| {
            let what = What::Registration(life.number, attempt);
            // The receiver is gone during shutdown.
            let _ = news.send(News { plugin, what });
        };
        let socket = self.folder.join(SOCKET);
        let (resource, endpoint) = (self.resource.clone(), self.endpoint.clone());
        let task = tokio::spawn(async move {
            register(&socket, life, &resource, &endpoint, report).await;
        });
        self.registration = Registration::Running {
            life: life.number,
            _task: AbortOnDrop(task.abort_handle()),
        };
    }

    /// Registers again if the kubelet dropped the list: it then considers all devices unhealthy and waits for a
    /// registration.
    async fn register_again_when_unheard(&mut self, life: Life) {
        if self.silence.life != life.number {
            self.silence = Silence::in_life(life.number);
        }
        let Some(until) = self.silence.until else {
            return;
        };
        let done = matches!(self.registration, Registration::Done(_));
        if *self.listeners.borrow() > 0 || !done {
            self.silence.until = None;
            self.silence.dead = false;
            return;
        }
        if Instant::now() < until {
            return;
        }
        self.silence.next = (self.silence.next * 2).min(LONGEST_SILENCE);
        if !is_alive(&self.folder.join(SOCKET)).await {
            // The kubelet ended and left its socket; the next instance creates its own.
            self.silence.dead = true;
            self.silence.until = Some(Instant::now() + self.silence.next);
            return;
        }
        tracing::warn!(
            resource = self.resource,
            "the kubelet is running but stopped watching; registering again"
        );
        self.tell(PluginEvent::GivenUp {
            resource: self.resource.clone(),
        });
        self.registration = Registration::None;
        self.silence.until = None;
        self.silence.dead = false;
    }

    /// Processes a message of a task; `settle` applies the consequences.
    pub(super) fn take(&mut self, what: What) {
        match what {
            What::Registration(life, attempt) => {
                // Messages of an abandoned attempt may still arrive.
                let is_current = |is_current: u64| is_current == life;
                if !matches!(self.registration, Registration::Running { life, .. } if is_current(life))
                {
                    return;
                }
                let resource = self.resource.clone();
                match attempt {
                    Attempt::Registered => {
                        tracing::info!(resource, "registered with the kubelet");
                        self.registration = Registration::Done(life);
                        self.tell(PluginEvent::Registered { resource, life });
                    }
                    Attempt::Refused(why) => {
                        tracing::warn!(resource, "registration with the kubelet failed: {why}");
                        self.tell(PluginEvent::NotRegistered { resource, why });
                    }
                }
            }
            What::Unheard => {
                if matches!(self.registration, Registration::Done(_)) {
                    self.silence.until = Some(Instant::now() + self.silence.next);
                }
            }
        }
    }

    /// Ends the plugin of a removed resource: sends an empty list to the clients, then shuts down.
    pub(super) fn close(self) {
        let server = self.end(Ending::ResourceGone);
        tokio::spawn(async move {
            let abort = server.abort_handle();
            if timeout(CLOSE_WITHIN, server).await.is_err() {
                abort.abort();
            }
        });
    }

    /// Shuts down with the daemon. The socket is removed when this returns; connections end when their calls are done.
    pub(super) fn leave(self) -> impl Future<Output = ()> {
        let server = self.end(Ending::Shutdown);
        async move {
            // A server that panicked has ended as well.
            let _ = server.await;
        }
    }

    fn end(self, ending: Ending) -> JoinHandle<()> {
        drop(self.registration);
        drop(self.place);
        self.ending.send_replace(ending);
        // Lists end on this signal; until then they keep the channel open.
        self.server
    }

    fn tell(&self, event: PluginEvent) {
        // The receiver may be gone.
        let _ = self.events.send(event);
    }
}

async fn serve(
    service: Service,
    incoming: mpsc::Receiver<io::Result<UnixStream>>,
    mut ending: watch::Receiver<Ending>,
) {
    let server = DevicePluginServer::new(service).max_decoding_message_size(LARGEST_REQUEST);
    let ended = async move {
        // A plugin that was dropped without a signal has ended as well.
        let _ = ending.wait_for(|ending| *ending != Ending::No).await;
    };
    let incoming = ReceiverStream::new(incoming);
    let served = Server::builder().serve_with_incoming_shutdown(server, incoming, ended);
    if let Err(error) = served.await {
        tracing::error!("a device plugin server failed: {error}");
    }
}

/// Sends a message each time the last client disconnects.
async fn notify_on_disconnect(
    mut listeners: watch::Receiver<usize>,
    plugin: u64,
    news: mpsc::UnboundedSender<News>,
) {
    while listeners.wait_for(|listeners| *listeners > 0).await.is_ok() {
        if listeners
            .wait_for(|listeners| *listeners == 0)
            .await
            .is_err()
        {
            return;
        }
        let what = What::Unheard;
        if news.send(News { plugin, what }).is_err() {
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
