//! The life of one plugin: its server from first to last, its socket as often as somebody takes it away, its
//! registration once for each of the kubelet's lives.

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
use super::socket::{Socket, Standing, file_name, is_alive};
use super::{PluginEvent, Setup};
use crate::kubelet::SOCKET;
use crate::kubelet::api::v1beta1::device_plugin_server::DevicePluginServer;
use crate::kubelet::register::{Attempt, register};
use crate::kubelet::watch::{Folder, Life};

/// A list of a whole node's shares has some 20 KiB; the kubelet never asks for more than are listed.
const LARGEST_REQUEST: usize = 1024 * 1024;

/// How soon a socket that could not be made is tried again, if nothing happens in the folder before.
const BIND_AGAIN: Duration = Duration::from_secs(1);

/// How often a process that took the socket is looked at.
const LOOK_AT_TAKER: Duration = Duration::from_secs(5);

/// How long a plugin that nobody listens to any more waits for the kubelet to be gone or to come back, before it
/// registers again; doubled each time, so that a kubelet that gives up every list is not called without end.
const FIRST_SILENCE: Duration = Duration::from_secs(1);
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// How long the server of a resource that is gone may take to end.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// What a plugin's tasks tell.
pub(super) struct News {
    /// The plugin's number.
    pub(super) plugin: u64,
    pub(super) what: What,
}

pub(super) enum What {
    /// How the registration in a life of the kubelet went on.
    Registration(u64, Attempt),
    /// The last that listened to the list is gone.
    Unheard,
}

pub(super) struct Plugin {
    number: u64,
    resource: String,
    endpoint: String,
    folder: PathBuf,
    place: Place,
    /// Why its socket could not be made when that was last tried.
    trouble: Option<String>,
    connections: mpsc::Sender<io::Result<UnixStream>>,
    listeners: watch::Receiver<usize>,
    ending: watch::Sender<Ending>,
    server: JoinHandle<()>,
    registration: Registration,
    silence: Silence,
    /// Whether it was last told that a kubelet runs that knows the plugin.
    known: bool,
    events: mpsc::UnboundedSender<PluginEvent>,
    news: mpsc::UnboundedSender<News>,
}

/// Where a plugin is to be found.
enum Place {
    /// Nowhere: not yet, the folder is gone, or binding failed.
    Nowhere,
    /// At its socket.
    At(Socket),
    /// Another process is there; it is looked at from time to time.
    Taken,
}

/// What the kubelet knows of a plugin.
enum Registration {
    None,
    /// It is being told, in this life.
    Running {
        life: u64,
        _task: AbortOnDrop,
    },
    /// It was told, in this life.
    Done(u64),
}

/// How long nobody has listened in a life of the kubelet.
struct Silence {
    life: u64,
    /// When to register again, if nobody listens by then.
    until: Option<Instant>,
    /// How long the next one may be.
    next: Duration,
    /// Whether nobody listens at the kubelet's socket either.
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
    /// A plugin that serves, and is not to be found yet.
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
        tokio::spawn(tell_of_silence(listeners.clone(), number, news.clone()));
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

    /// Makes socket and registration what they ought to be in a folder like this, and answers when to look again though
    /// nothing happened.
    pub(super) async fn settle(&mut self, folder: Folder) -> Option<Instant> {
        let mut again = self.settle_place(folder).await;
        let bound = matches!(self.place, Place::At(_));
        match folder.kubelet.filter(|_| bound) {
            None => self.registration = Registration::None,
            Some(life) => {
                self.give_up_when_unheard(life).await;
                self.settle_registration(life);
                again = again.or(self.silence.until);
            }
        }
        self.tell_whether_known();
        again
    }

    /// A kubelet that was killed leaves its socket and hears nothing any more.
    fn tell_whether_known(&mut self) {
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
                Standing::Ours => return None,
                Standing::Replaced if is_alive(&path).await => {
                    tracing::warn!(
                        resource = self.resource,
                        "another process took {}; waiting until it is gone",
                        path.display()
                    );
                    self.tell(PluginEvent::SocketTaken {
                        resource: self.resource.clone(),
                    });
                    self.place = Place::Taken;
                    return Some(Instant::now() + LOOK_AT_TAKER);
                }
                Standing::Replaced | Standing::Gone => {
                    tracing::info!(
                        resource = self.resource,
                        "{} was removed; making it again",
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
                    tracing::warn!(
                        resource = self.resource,
                        "cannot listen on {why}; trying again"
                    );
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
            Registration::Running { life: told, .. } | Registration::Done(told)
                if told == life.number =>
            {
                return;
            }
            _ => {}
        }
        let (news, plugin) = (self.news.clone(), self.number);
        let report = move |attempt| {
            let what = What::Registration(life.number, attempt);
            // Nobody is left to tell when the daemon leaves.
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

    /// A kubelet whose list ended counts all devices as unhealthy and waits for a registration.
    async fn give_up_when_unheard(&mut self, life: Life) {
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
            // It is dead and left its socket; the next one makes its own.
            self.silence.dead = true;
            self.silence.until = Some(Instant::now() + self.silence.next);
            return;
        }
        tracing::warn!(
            resource = self.resource,
            "the kubelet runs but no longer listens; registering again"
        );
        self.tell(PluginEvent::GivenUp {
            resource: self.resource.clone(),
        });
        self.registration = Registration::None;
        self.silence.until = None;
        self.silence.dead = false;
    }

    /// A task has something to tell; `settle` does what follows from it.
    pub(super) fn take(&mut self, what: What) {
        match what {
            What::Registration(life, attempt) => {
                // News of an attempt that was given up may still be on its way.
                let told = |told: u64| told == life;
                if !matches!(self.registration, Registration::Running { life, .. } if told(life)) {
                    return;
                }
                let resource = self.resource.clone();
                match attempt {
                    Attempt::Registered => {
                        tracing::info!(resource, "registered");
                        self.registration = Registration::Done(life);
                        self.tell(PluginEvent::Registered { resource, life });
                    }
                    Attempt::Refused(why) => {
                        tracing::warn!(resource, "the kubelet does not register it: {why}");
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

    /// The resource is gone: says so to whoever listens, then ends.
    pub(super) fn close(self) {
        let server = self.end(Ending::ResourceGone);
        tokio::spawn(async move {
            let abort = server.abort_handle();
            if timeout(CLOSE_WITHIN, server).await.is_err() {
                abort.abort();
            }
        });
    }

    /// The daemon leaves. The socket is gone when this returns, the connections when what it answers is done.
    pub(super) fn leave(self) -> impl Future<Output = ()> {
        let server = self.end(Ending::Shutdown);
        async move {
            // A server that panicked has ended too.
            let _ = server.await;
        }
    }

    fn end(self, ending: Ending) -> JoinHandle<()> {
        drop(self.registration);
        drop(self.place);
        self.ending.send_replace(ending);
        // The lists end because they are told so, and hold the channel open themselves until then.
        self.server
    }

    fn tell(&self, event: PluginEvent) {
        // Who no longer listens does not want to know.
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
        // A plugin that was dropped without a word has ended too.
        let _ = ending.wait_for(|ending| *ending != Ending::No).await;
    };
    let incoming = ReceiverStream::new(incoming);
    let served = Server::builder().serve_with_incoming_shutdown(server, incoming, ended);
    if let Err(error) = served.await {
        tracing::error!("the server of a resource ended: {error}");
    }
}

/// Tells each time the last listener leaves.
async fn tell_of_silence(
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

/// A task that ends with its owner.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
