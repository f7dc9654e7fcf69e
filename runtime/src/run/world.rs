//! The daemon among its neighbours: the kubelet, the cluster, Prometheus, the configuration, signals.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use super::desk::Desk;
use super::vitals::Pulse;
use super::{Daemon, Event, Opener, Outlets, Status};
use crate::config;
use crate::host::Roots;
use crate::kubelet::pod_resources;
use crate::metrics::{Exporter, Plugin, PodDevices, Sources as Measured, http, sampler};
use crate::nvml::{Late, fake::Fake};
use crate::plugin::{Plugins, Setup};
use crate::publish::{OwnNode, Sources, follow};
use crate::state::State;

/// How long to wait before a port that is taken is tried again.
const PORT_AGAIN: Duration = Duration::from_secs(5);

/// How long the cluster waits for the kubelet to be told first.
const KUBELET_FIRST: Duration = Duration::from_secs(1);

/// Where the daemon is, and what it is to do.
pub struct Settings {
    /// The node's configuration.
    pub config: PathBuf,
    /// Where the node's files are.
    pub roots: Roots,
    /// A machine that is made up, in place of a driver.
    pub fake: Option<Fake>,
    /// The kubelet's folder for plugins.
    pub device_plugins: PathBuf,
    /// The kubelet's socket that tells which pod holds what.
    pub pod_resources: PathBuf,
    /// The node's name; empty where there is no cluster to tell anything.
    pub node_name: String,
    /// The address for metrics and probes.
    pub listen: IpAddr,
}

/// Serves until a signal says to leave.
pub async fn serve(settings: Settings) -> Result<()> {
    let name = settings.config.display().to_string();
    let text = config::read(&settings.config).with_context(|| name.clone())?;
    let first = config::parse(&text).with_context(|| name)?;
    let (events, happened) = mpsc::unbounded_channel();
    let (state_sender, state) = watch::channel(Daemon::nothing(&first));
    let (status_sender, status) = watch::channel(Status::default());
    let (change_sender, changes) = mpsc::unbounded_channel();
    let metrics = Plugin::default();
    metrics.config_loaded(&config::digest(&first));
    let driver = Late::default();

    signals(&events)?;
    let (plugin_events, mut plugins_said) = mpsc::unbounded_channel();
    let plugins = Plugins::start(Setup {
        folder: settings.device_plugins.clone(),
        state: state.clone(),
        answers: Arc::new(Desk {
            metrics: metrics.clone(),
        }),
        events: plugin_events,
    });
    let heard = events.clone();
    tokio::spawn(async move {
        while let Some(event) = plugins_said.recv().await {
            if heard.send(Event::Plugin(event)).is_err() {
                return;
            }
        }
    });
    let (config_sender, mut configs) = mpsc::unbounded_channel();
    tokio::spawn(config::watch(settings.config.clone(), text, config_sender));
    let heard = events.clone();
    tokio::spawn(async move {
        while let Some(config) = configs.recv().await {
            if heard.send(Event::Config(config)).is_err() {
                return;
            }
        }
    });
    let exporter = Exporter::start(
        Measured {
            state: state.clone(),
            nvml: Arc::new(driver.clone()),
            pods: pods(&settings.pod_resources),
            hostname: settings.node_name.clone(),
        },
        metrics.clone(),
        sampler::LIMIT,
        sampler::KEEP,
    );
    let vitals = Pulse {
        events: events.clone(),
        state: state.clone(),
        status: status.clone(),
    };
    tokio::spawn(answer_http(
        settings.listen,
        state.clone(),
        Arc::new(exporter),
        Arc::new(vitals),
    ));
    let name = settings.node_name.clone();
    let sources = Sources {
        state,
        status,
        changes,
    };
    tokio::spawn(tell_cluster(name, sources));

    let outlets = Outlets {
        state: state_sender,
        status: status_sender,
        changes: change_sender,
        metrics,
        driver,
    };
    let opener = Opener::new(settings.roots, settings.fake);
    Daemon::new(first, opener, events, outlets)
        .run(happened)
        .await;
    plugins.stop().await.context("the plugins did not end well")
}

/// Keeps the cluster's picture of the node. Pods wait for the kubelet to know the GPUs, and nobody waits for labels:
/// what a client needs, certificates above all, is read after that, or when that takes long.
async fn tell_cluster(name: String, sources: Sources) {
    let mut status = sources.status.clone();
    let registered = status.wait_for(|status| !status.registered.is_empty());
    // Either way, the cluster is told what there is to tell.
    drop(tokio::time::timeout(KUBELET_FIRST, registered).await);
    follow(own_node(&name), sources).await;
}

/// The node in the cluster, where there is one.
fn own_node(name: &str) -> Option<OwnNode> {
    if name.is_empty() {
        info!("no node name: labels, conditions and events are not written");
        return None;
    }
    let client = kube::Config::incluster()
        .map_err(|error| error.to_string())
        .and_then(|config| kube::Client::try_from(config).map_err(|error| error.to_string()));
    match client {
        Ok(client) => Some(OwnNode::new(&client, name)),
        Err(error) => {
            warn!("labels, conditions and events are not written: {error}");
            None
        }
    }
}

/// Who holds which device, as far as the kubelet says.
fn pods(
    socket: &Path,
) -> Box<dyn Fn() -> crate::metrics::Later<Option<Vec<PodDevices>>> + Send + Sync> {
    let socket = socket.to_owned();
    Box::new(move || {
        let socket = socket.clone();
        Box::pin(async move { pod_resources::list(&socket).await.ok() })
    })
}

/// Answers Prometheus and probes, at the port of the configuration of the moment. A port that is taken is waited for:
/// GPUs are served without it, and the port before, where there was one, is answered until then.
async fn answer_http(
    address: IpAddr,
    mut state: watch::Receiver<Arc<State>>,
    exporter: Arc<Exporter>,
    vitals: Arc<dyn http::Vitals>,
) {
    // Dropping the set ends what is in it; answers that are being given are tasks of their own.
    let mut servers = JoinSet::new();
    let mut serving: Option<SocketAddr> = None;
    // What was last tried in vain, and when to try it again.
    let mut refused: Option<(SocketAddr, Instant)> = None;
    loop {
        let port = state.borrow_and_update().config.metrics.port;
        let wanted = SocketAddr::new(address, port);
        refused = refused.filter(|(tried, at)| *tried == wanted && *at > Instant::now());
        if serving != Some(wanted) && refused.is_none() {
            match TcpListener::bind(wanted).await {
                Ok(listener) => {
                    info!("metrics and probes at {wanted}");
                    servers.abort_all();
                    let (exporter, vitals) = (Arc::clone(&exporter), Arc::clone(&vitals));
                    servers.spawn(http::serve(
                        listener,
                        exporter,
                        vitals,
                        http::Limits::default(),
                    ));
                    serving = Some(wanted);
                }
                Err(error) => {
                    match serving {
                        None => warn!("no metrics and no probes at {wanted}: {error}"),
                        Some(old) => warn!("metrics and probes stay at {old}: {wanted}: {error}"),
                    }
                    refused = Some((wanted, Instant::now() + PORT_AGAIN));
                }
            }
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            () = until(refused.map(|(_, at)| at)) => {}
            // One that was ended is forgotten.
            Some(_) = servers.join_next() => {}
        }
    }
}

/// SIGTERM, SIGINT and SIGQUIT end the daemon; SIGHUP makes it read the GPUs anew.
fn signals(events: &UnboundedSender<Event>) -> Result<()> {
    let ends = [
        (SignalKind::terminate(), "SIGTERM"),
        (SignalKind::interrupt(), "SIGINT"),
        (SignalKind::quit(), "SIGQUIT"),
    ];
    for (kind, name) in ends {
        let mut signals = signal(kind).with_context(|| name)?;
        let events = events.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                let _ = events.send(Event::Shutdown(name));
            }
        });
    }
    let mut hang_ups = signal(SignalKind::hangup()).context("SIGHUP")?;
    let events = events.clone();
    tokio::spawn(async move {
        while hang_ups.recv().await.is_some() {
            if events.send(Event::Rescan).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Waits until something is due; for ever where nothing is.
pub(super) async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
