//! The plugins of a node, one for each resource it offers: made, registered, closed as state and kubelet come and go.
//!
//! One task owns them. Whatever happens, it compares what ought to be with what is: a socket for each offer, and a
//! registration for each socket in each life of the kubelet. So it does not matter in which order things happen, or how
//! many of them at once.
//!
//! A resource that the node no longer has is listed as empty, then its server ends: the kubelet counts 0 of it at once
//! and forgets it five minutes after the end (`endpointStopGracePeriod` in kubernetes/kubernetes
//! pkg/kubelet/cm/devicemanager/types.go). Without the empty list its last devices would count as
//! capacity until then; without the end it would stay on the node with 0 for ever.
//!
//! A plugin whose own socket is taken away binds it again and does not register: the kubelet's connection outlives the
//! file. One whose listener leaves while the kubelet stays registers again, for then the kubelet has given it up.
//!
//! The kubelet must be 1.26 or later: earlier ones sent the socket's path as `:authority`, which is none by RFC 3986,
//! and HTTP/2 libraries that check it refuse the request (kubernetes/kubernetes#112597).

mod life;
mod server;
mod socket;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};

use crate::allocate::Grant;
use crate::device::Offer;
use crate::kubelet::SOCKET;
use crate::kubelet::watch::{Folder, FolderWatch};
use crate::state::State;

pub use server::{HEALTHY, UNHEALTHY, list};
pub use socket::file_name;

use life::{News, Plugin};

/// How long lists may take to end when the daemon leaves.
const LEAVE_WITHIN: Duration = Duration::from_millis(100);

/// What decides who gets what. It is asked while a pod waits: it must neither block nor ask the driver.
pub trait Answers: Send + Sync {
    /// What a container needs to use these of the offer's shares.
    fn allocate(&self, state: &State, offer: &Offer, ids: &[String]) -> Result<Grant, Refused>;

    /// The best `size` of the available shares, among them those that must be.
    fn preferred(
        &self,
        state: &State,
        offer: &Offer,
        available: &[String],
        must_include: &[String],
        size: usize,
    ) -> Vec<String>;
}

/// Why a container gets nothing. The message names the devices; it ends up in an event of the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nobody should have asked for that: unknown devices, repeated ones.
    Invalid(String),
    /// The devices cannot be used now.
    Unusable(String),
}

/// What happens to plugins, for whoever reacts to it. It is in the log already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginEvent {
    /// The socket of a resource is there.
    Bound {
        /// The resource.
        resource: String,
    },
    /// The socket of a resource cannot be made; it is tried again.
    NotBound {
        /// The resource.
        resource: String,
        /// Why.
        why: String,
    },
    /// The file of a resource's socket was removed; it is made again.
    SocketLost {
        /// The resource.
        resource: String,
    },
    /// Another process listens in the socket's place. The newest plugin wins: this one waits until the other is gone.
    SocketTaken {
        /// The resource.
        resource: String,
    },
    /// The kubelet knows the resource.
    Registered {
        /// The resource.
        resource: String,
        /// Counts the kubelet's lives, from 1 on.
        life: u64,
    },
    /// The kubelet said no, or nothing; it is asked again.
    NotRegistered {
        /// The resource.
        resource: String,
        /// Why.
        why: String,
    },
    /// The kubelet gave the plugin up though it runs on; it is registered again.
    GivenUp {
        /// The resource.
        resource: String,
    },
    /// Whether the kubelet knows the resource changed: it was told, or it is gone.
    Known {
        /// The resource.
        resource: String,
        /// Whether a kubelet runs that knows it.
        known: bool,
    },
    /// The node no longer has the resource.
    Closed {
        /// The resource.
        resource: String,
    },
}

/// What plugins are made of.
pub struct Setup {
    /// The kubelet's folder for plugins: [`crate::kubelet::FOLDER`].
    pub folder: PathBuf,
    /// What the node offers.
    pub state: watch::Receiver<Arc<State>>,
    /// What decides who gets what.
    pub answers: Arc<dyn Answers>,
    /// Hears what happens, all of it: counters and readiness are made of that. Nobody waits for it. It is short, for
    /// one task fills it, a few words for each thing that happens, and whoever empties it is woken by each.
    pub events: mpsc::UnboundedSender<PluginEvent>,
}

/// The plugins of a node. Dropping this ends them and removes their sockets as soon as the runtime gets to it; `stop`
/// does so before it returns.
#[derive(Debug)]
pub struct Plugins {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Plugins {
    /// Serves what the state offers, from now on. Must be called on a tokio runtime.
    pub fn start(setup: Setup) -> Self {
        let (stop, stopped) = watch::channel(false);
        let watch = FolderWatch::start(&setup.folder);
        let (news_sender, news) = mpsc::unbounded_channel();
        let set = Set {
            setup,
            watch,
            news,
            news_sender,
            plugins: BTreeMap::new(),
            made: 0,
            missed: None,
        };
        let task = tokio::spawn(set.run(stopped));
        Self { stop, task }
    }

    /// Waits until the plugins end by themselves: when nobody publishes the state any more, or by a panic.
    pub async fn ended(&mut self) -> Result<(), JoinError> {
        (&mut self.task).await
    }

    /// Ends all lists and removes all sockets.
    pub async fn stop(self) -> Result<(), JoinError> {
        self.stop.send_replace(true);
        self.task.await
    }
}

struct Set {
    setup: Setup,
    watch: FolderWatch,
    news: mpsc::UnboundedReceiver<News>,
    news_sender: mpsc::UnboundedSender<News>,
    plugins: BTreeMap<String, Plugin>,
    /// How many plugins were ever made: tells those of one resource apart.
    made: u64,
    /// What was last said to be waited for.
    missed: Option<Missed>,
}

/// What of the kubelet is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missed {
    Folder,
    Socket,
}

impl Set {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            let again = self.settle().await;
            tokio::select! {
                // The order is that of importance, and saves a random number.
                biased;
                _ = stopped.changed() => break,
                changed = self.setup.state.changed() => if changed.is_err() { break },
                changed = self.watch.folder.changed() => if changed.is_err() { break },
                Some(news) = self.news.recv() => self.take(news),
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
            }
        }
        let ends = self.plugins.into_values().map(Plugin::leave);
        let ends: Vec<_> = ends.collect();
        let all = async {
            for end in ends {
                end.await;
            }
        };
        // Connections that take longer end with the process.
        let _ = timeout(LEAVE_WITHIN, all).await;
    }

    /// Makes what is what ought to be, and answers when to look again though nothing happened.
    async fn settle(&mut self) -> Option<Instant> {
        let state = Arc::clone(&self.setup.state.borrow_and_update());
        let folder = *self.watch.folder.borrow_and_update();
        let gone = self
            .plugins
            .extract_if(.., |resource, _| state.offer(resource).is_none());
        for (resource, plugin) in gone {
            tracing::info!(resource, "the node no longer has it");
            plugin.close();
            // A plugin that nobody hears of is no reason to stop.
            let _ = self.setup.events.send(PluginEvent::Closed { resource });
        }
        for offer in &state.offers {
            if !self.plugins.contains_key(&offer.resource) {
                self.made += 1;
                let plugin = Plugin::new(
                    &offer.resource,
                    self.made,
                    &self.setup,
                    self.news_sender.clone(),
                );
                self.plugins.insert(offer.resource.clone(), plugin);
            }
        }
        self.say_what_is_missed(folder);
        let mut again: Option<Instant> = None;
        for plugin in self.plugins.values_mut() {
            let wanted = plugin.settle(folder).await;
            again = [again, wanted].into_iter().flatten().min();
        }
        again
    }

    /// Whoever started the daemon in the wrong place learns from the log what it waits for. One that has nothing to
    /// offer waits for nobody.
    fn say_what_is_missed(&mut self, folder: Folder) {
        let missed = match folder {
            _ if self.plugins.is_empty() => return,
            Folder { present: false, .. } => Some(Missed::Folder),
            Folder { kubelet: None, .. } => Some(Missed::Socket),
            Folder { .. } => None,
        };
        if missed == self.missed {
            return;
        }
        self.missed = missed;
        let folder = self.setup.folder.display();
        match missed {
            Some(Missed::Folder) => {
                tracing::warn!("waiting for the kubelet: there is no folder {folder}");
            }
            Some(Missed::Socket) => {
                tracing::info!("waiting for the kubelet: there is no {SOCKET} in {folder}");
            }
            None => {}
        }
    }

    /// Plugins that are closed by now have no news any more.
    fn take(&mut self, news: News) {
        if let Some(plugin) = self.plugins.values_mut().find(|it| it.is(news.plugin)) {
            plugin.take(news.what);
        }
    }
}
