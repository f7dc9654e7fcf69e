//! Connects the daemon with the kubelet, the API server, Prometheus, the configuration file and signals.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::allocator::Allocator;
use super::probes::EventLoopProbes;
use super::{Daemon, DriverLoader, Event, HealthStore, Outputs, Status};
use crate::config::{self, ConfigError, LoadedConfig, NodeConfig};
use crate::host::Roots;
use crate::kubelet::pod_resources;
use crate::metrics::{
    Exporter, MetricSources as Measured, PluginMetrics, PodLister, http, pod_lister, sampler,
};
use crate::nvml::{DriverHandle, fake::Fake};
use crate::plugin::{Plugins, Setup};
use crate::publish::{MAX_QUEUED_CHANGES, NodeClient, PublisherInputs, run_node_publisher};
use crate::state::State;

/// Delay before a port that is in use is retried.
const PORT_RETRY: Duration = Duration::from_secs(5);

/// How long updates of the Node wait for the first registration with the kubelet.
const KUBELET_TIMEOUT: Duration = Duration::from_secs(1);

/// The settings of the daemon.
pub struct Settings {
    /// The configuration file.
    pub config: PathBuf,
    /// The kubelet's device plugin directory.
    pub device_plugins: PathBuf,
    /// The socket of the kubelet's PodResources API.
    pub pod_resources: PathBuf,
    /// The node's name; empty outside a cluster.
    pub node_name: String,
    /// The IP address for metrics and probes.
    pub listen: IpAddr,
    /// The folder of the health records; without one, a restarted daemon starts without them.
    pub state: Option<PathBuf>,
}

/// The files and the driver of a node.
pub struct Machine {
    /// The paths to the node's files.
    pub roots: Roots,
    /// A simulated machine, instead of the driver.
    pub fake: Option<Fake>,
}

/// Runs the daemon until a termination signal. `machine` finds the node's files for a configuration.
pub async fn serve(
    settings: Settings,
    machine: impl FnOnce(&NodeConfig) -> Result<Machine>,
) -> Result<()> {
    let text = config::read_regular(&settings.config);
    let first = text
        .as_deref()
        .map_err(ToString::to_string)
        .and_then(|text| config::parse_known(text).map_err(|error| error.to_string()));
    let (events, mut happened) = mpsc::unbounded_channel();
    let initial = if let Ok(loaded) = &first {
        Daemon::empty_state(&loaded.config)
    } else {
        let text = text.as_deref().unwrap_or_default();
        Daemon::empty_state(&config::placeholder(text))
    };
    let (state_sender, state) = watch::channel(initial);
    let (status_sender, status) = watch::channel(Status::default());
    let (change_sender, changes) = mpsc::channel(MAX_QUEUED_CHANGES);
    let metrics = PluginMetrics::default();
    let driver = DriverHandle::default();

    subscribe_to_signals(&events)?;
    watch_config(&settings.config, text, events.clone());
    let exporter = Exporter::start(
        Measured {
            state: state.clone(),
            nvml: Arc::new(driver.clone()),
            pods: list_pods(&settings.pod_resources),
            hostname: settings.node_name.clone(),
        },
        metrics.clone(),
        sampler::SAMPLE_TIMEOUT,
        sampler::CACHE_TIME,
    );
    let probes = EventLoopProbes {
        events: events.clone(),
        state: state.clone(),
        status: status.clone(),
    };
    tokio::spawn(serve_http(
        settings.listen,
        state.clone(),
        Arc::new(exporter),
        Arc::new(probes),
    ));
    let sources = PublisherInputs {
        state: state.clone(),
        status,
        changes,
    };
    tokio::spawn(publish_node(settings.node_name.clone(), sources));

    let outputs = Outputs {
        state: state_sender,
        status: status_sender,
        changes: change_sender,
        metrics: metrics.clone(),
        driver,
    };
    let first = match first {
        Ok(first) => first,
        Err(error) => match await_config(&settings.config, &error, &outputs, &mut happened).await {
            Some(first) => first,
            None => return Ok(()),
        },
    };
    metrics.set_config_hash(&config::digest(&first.config));
    let Machine { roots, fake } = machine(&first.config)?;
    let plugins = start_plugins(&settings.device_plugins, state, metrics, events.clone());
    let health_store = HealthStore::new(settings.state.as_deref(), &roots.proc);
    let loader = DriverLoader::new(roots, fake);
    Daemon::new(first, loader, events, outputs, health_store)
        .run(happened)
        .await;
    plugins
        .stop()
        .await
        .context("the device plugins did not shut down cleanly")
}

/// Waits for a valid configuration, and reports each invalid one meanwhile: a restart would help only after minutes,
/// and the last log of a process that exits is hard to find. Returns `None` on shutdown.
async fn await_config(
    path: &Path,
    error: &str,
    outputs: &Outputs,
    happened: &mut UnboundedReceiver<Event>,
) -> Option<LoadedConfig> {
    let report = |error: &str| {
        let path = path.display();
        error!("no GPU is advertised, waiting for a valid configuration: {path} {error}");
        outputs.metrics.count_rejected_config();
        outputs
            .status
            .send_modify(|status| status.config_error = Some(error.to_owned()));
    };
    report(error);
    loop {
        match happened.recv().await? {
            Event::Config(Ok(first)) => {
                info!("the configuration is valid");
                outputs
                    .state
                    .send_replace(Daemon::empty_state(&first.config));
                outputs
                    .status
                    .send_modify(|status| status.config_error = None);
                return Some(first);
            }
            Event::Config(Err(error)) => report(&error.to_string()),
            Event::Liveness(reply) => drop(reply.send(())),
            Event::Shutdown(reason) => {
                info!("shutting down: {reason}");
                return None;
            }
            _ => {}
        }
    }
}

fn start_plugins(
    folder: &Path,
    state: watch::Receiver<Arc<State>>,
    metrics: PluginMetrics,
    events: UnboundedSender<Event>,
) -> Plugins {
    let (sender, mut plugin_events) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = plugin_events.recv().await {
            if events.send(Event::Plugin(event)).is_err() {
                return;
            }
        }
    });
    Plugins::start(Setup {
        folder: folder.to_owned(),
        state,
        handler: Arc::new(Allocator { metrics }),
        events: sender,
    })
}

/// Sends each new content of the configuration file as an event, starting from `known`.
fn watch_config(path: &Path, known: Result<String, ConfigError>, events: UnboundedSender<Event>) {
    let (sender, mut configs) = mpsc::unbounded_channel();
    tokio::spawn(config::watch(path.to_owned(), known, sender));
    tokio::spawn(async move {
        while let Some(config) = configs.recv().await {
            if events.send(Event::Config(config)).is_err() {
                return;
            }
        }
    });
}

/// Updates the Node object. Pods wait for the registration with the kubelet, but not for labels. The API client, with
/// its certificates, is therefore initialized after the first registration, or after a timeout.
async fn publish_node(name: String, sources: PublisherInputs) {
    let mut status = sources.status.clone();
    let registered = status.wait_for(|status| !status.registered.is_empty());
    // The Node is updated in both cases.
    drop(tokio::time::timeout(KUBELET_TIMEOUT, registered).await);
    run_node_publisher(node_client(&name), sources).await;
}

/// Creates the API client for the node, if it is in a cluster.
fn node_client(name: &str) -> Option<NodeClient> {
    if name.is_empty() {
        info!("no node name: labels, conditions and events are not published");
        return None;
    }
    match NodeClient::in_cluster(name) {
        Ok(client) => Some(client),
        Err(error) => {
            warn!(
                "cannot connect to the API server, labels, conditions and events are not published: {error}"
            );
            None
        }
    }
}

/// Returns a function that lists the device assignments that the kubelet reports.
fn list_pods(socket: &Path) -> PodLister {
    let socket = socket.to_owned();
    pod_lister(move || {
        let socket = socket.clone();
        async move { pod_resources::list_pod_devices(&socket).await.ok() }
    })
}

/// Serves metrics and probes at the configured port. A port in use is retried: the GPUs are served meanwhile, and the
/// previous port, if any, stays open until then.
async fn serve_http(
    address: IpAddr,
    mut state: watch::Receiver<Arc<State>>,
    exporter: Arc<Exporter>,
    probes: Arc<dyn http::Probes>,
) {
    // Dropping the set aborts its tasks; responses in progress run in separate tasks.
    let mut servers = JoinSet::new();
    let mut serving: Option<SocketAddr> = None;
    // The last address that could not be bound, and when to retry it.
    let mut refused: Option<(SocketAddr, Instant)> = None;
    // The address whose failure is in the log.
    let mut reported = None;
    loop {
        let port = state.borrow_and_update().config.metrics.port;
        let wanted = SocketAddr::new(address, port);
        refused = refused.filter(|(tried, at)| *tried == wanted && *at > Instant::now());
        if serving != Some(wanted) && refused.is_none() {
            match TcpListener::bind(wanted).await {
                Ok(listener) => {
                    info!("serving metrics and probes at {wanted}");
                    servers.abort_all();
                    let (exporter, probes) = (Arc::clone(&exporter), Arc::clone(&probes));
                    servers.spawn(http::serve(
                        listener,
                        exporter,
                        probes,
                        http::Limits::default(),
                    ));
                    serving = Some(wanted);
                    reported = None;
                }
                Err(error) => {
                    if reported != Some(wanted) {
                        reported = Some(wanted);
                        let old = serving.map_or_else(
                            || "metrics and probes are not served".to_owned(),
                            |old| format!("metrics and probes stay at {old}"),
                        );
                        warn!(
                            "{old}: cannot listen on {wanted}: {error}; retrying: end the other process, or change \
                             `metrics.port`"
                        );
                    }
                    refused = Some((wanted, Instant::now() + PORT_RETRY));
                }
            }
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            () = sleep_until(refused.map(|(_, at)| at)) => {}
            // Reaps an aborted task.
            Some(_) = servers.join_next() => {}
        }
    }
}

/// Maps SIGTERM, SIGINT and SIGQUIT to shutdown, and SIGHUP to a GPU discovery.
fn subscribe_to_signals(events: &UnboundedSender<Event>) -> Result<()> {
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

/// Waits until `due`, or indefinitely if it is `None`.
pub(super) async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
