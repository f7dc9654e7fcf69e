//! Connects the daemon with the kubelet, the API server, Prometheus, the configuration file and signals.

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

use super::allocator::Allocator;
use super::probes::EventLoopProbes;
use super::{Daemon, DriverLoader, Event, Outputs, Status};
use crate::config;
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
    /// The paths to the node's files.
    pub roots: Roots,
    /// A simulated machine, instead of the driver.
    pub fake: Option<Fake>,
    /// The kubelet's device plugin directory.
    pub device_plugins: PathBuf,
    /// The socket of the kubelet's PodResources API.
    pub pod_resources: PathBuf,
    /// The node's name; empty outside a cluster.
    pub node_name: String,
    /// The IP address for metrics and probes.
    pub listen: IpAddr,
}

/// Runs the daemon until a termination signal.
pub async fn serve(settings: Settings) -> Result<()> {
    let name = settings.config.display().to_string();
    let text = config::read(&settings.config).with_context(|| name.clone())?;
    let first = config::parse(&text).with_context(|| name)?;
    let (events, happened) = mpsc::unbounded_channel();
    let (state_sender, state) = watch::channel(Daemon::empty_state(&first));
    let (status_sender, status) = watch::channel(Status::default());
    let (change_sender, changes) = mpsc::channel(MAX_QUEUED_CHANGES);
    let metrics = PluginMetrics::default();
    metrics.set_config_hash(&config::digest(&first));
    let driver = DriverHandle::default();

    subscribe_to_signals(&events)?;
    let (plugin_events, mut plugins_said) = mpsc::unbounded_channel();
    let plugins = Plugins::start(Setup {
        folder: settings.device_plugins.clone(),
        state: state.clone(),
        handler: Arc::new(Allocator {
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
    let name = settings.node_name.clone();
    let sources = PublisherInputs {
        state,
        status,
        changes,
    };
    tokio::spawn(publish_node(name, sources));

    let outputs = Outputs {
        state: state_sender,
        status: status_sender,
        changes: change_sender,
        metrics,
        driver,
    };
    let loader = DriverLoader::new(settings.roots, settings.fake);
    Daemon::new(first, loader, events, outputs)
        .run(happened)
        .await;
    plugins
        .stop()
        .await
        .context("the device plugins did not shut down cleanly")
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
                }
                Err(error) => {
                    match serving {
                        None => warn!("cannot serve metrics and probes at {wanted}: {error}"),
                        Some(old) => warn!(
                            "metrics and probes stay at {old}: cannot listen on {wanted}: {error}"
                        ),
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
