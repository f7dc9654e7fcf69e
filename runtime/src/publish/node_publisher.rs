//! Publishes the state of the daemon to the Node object.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gpuc_schema::node_config::LabelOutput;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::feature_file;
use super::health_report::health_report;
use super::node::{HealthReport, NodeClient, NodeError, NodeMetadata};
use super::node_gpus::annotations;
use crate::health::Reaction;
use crate::labels::node_labels;
use crate::run::Status;
use crate::state::State;

/// Backoff after a failed request to the API server: initial and maximum.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Changes within this time are written together, to limit the load on the API server.
const SETTLE_TIME: Duration = Duration::from_millis(200);

/// Interval at which a removed startup taint is checked: a cloud provider writes the taints of a pool to its running
/// nodes when any of them changes (EKS' `UpdateNodegroupConfig`, GKE's `node-pools update`).
const POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum number of changes of device health that wait for their events.
pub const MAX_QUEUED_CHANGES: usize = 64;

/// The inputs of the publisher.
pub struct PublisherInputs {
    /// The state of the GPUs.
    pub state: watch::Receiver<Arc<State>>,
    /// The status of the daemon.
    pub status: watch::Receiver<Status>,
    /// Changes of device health; the queue has a capacity of [`MAX_QUEUED_CHANGES`].
    pub changes: mpsc::Receiver<Reaction>,
}

/// The last published values.
#[derive(Default)]
struct Published {
    /// The labels and annotations that the daemon applied to the Node.
    metadata: Option<NodeMetadata>,
    /// The label file and its labels.
    feature_file: Option<(String, BTreeMap<String, String>)>,
    health_report: Option<HealthReport>,
    untainted: Option<(String, Instant)>,
}

impl Published {
    /// Whether this taint was absent at the last check.
    fn is_untainted(&self, key: &str) -> bool {
        let seen = self.untainted.as_ref();
        seen.is_some_and(|(seen, at)| seen == key && at.elapsed() < POLL_INTERVAL)
    }

    /// Returns when to check the taint again, if it was removed.
    fn next_check(&self) -> Option<Instant> {
        let (_, at) = self.untainted.as_ref()?;
        Some(*at + POLL_INTERVAL)
    }
}

/// Publishes labels, conditions and events until the channels close. Without a node, only the NFD feature file is
/// written. Events do not delay the others: an API server can hang for events only, such as in an admission webhook.
pub async fn run_node_publisher(node: Option<NodeClient>, inputs: PublisherInputs) {
    let PublisherInputs {
        state,
        status,
        changes,
    } = inputs;
    tokio::join!(
        update_node(node.as_ref(), state, status),
        create_events(node.as_ref(), changes)
    );
}

/// Updates labels, condition and taint after each change, and retries failed updates.
async fn update_node(
    node: Option<&NodeClient>,
    mut states: watch::Receiver<Arc<State>>,
    mut statuses: watch::Receiver<Status>,
) {
    let mut published = Published::default();
    let mut backoff = BACKOFF.0;
    let mut retry_at: Option<Instant> = None;
    let mut log = ErrorLog::default();
    loop {
        tokio::select! {
            changed = states.changed() => if changed.is_err() { return },
            changed = statuses.changed() => if changed.is_err() { return },
            () = sleep_until(retry_at), if retry_at.is_some() => {}
        }
        tokio::time::sleep(SETTLE_TIME).await;
        let state = Arc::clone(&states.borrow_and_update());
        let status = statuses.borrow_and_update().clone();
        match reconcile(node, &state, &status, &mut published).await {
            Ok(()) => {
                (retry_at, backoff) = (published.next_check(), BACKOFF.0);
                if log.clear() {
                    info!("the Node is up to date again");
                }
            }
            Err(error) => {
                if log.is_new(&error) {
                    warn!("cannot update the Node, retrying: {error}");
                } else {
                    debug!("cannot update the Node, retrying in {backoff:?}: {error}");
                }
                retry_at = Some(Instant::now() + backoff);
                backoff = (backoff * 2).min(BACKOFF.1);
            }
        }
    }
}

/// The last logged error: the same error is logged once.
#[derive(Default)]
struct ErrorLog {
    last: Option<String>,
}

impl ErrorLog {
    /// Whether the error differs from the last one. Remembers it.
    fn is_new(&mut self, error: &NodeError) -> bool {
        let message = error.to_string();
        let is_new = self.last.as_ref() != Some(&message);
        self.last = Some(message);
        is_new
    }

    /// Forgets the error after a success. Returns whether there was one.
    fn clear(&mut self) -> bool {
        self.last.take().is_some()
    }
}

/// Updates what differs from the published values. An update that fails does not prevent the others. Returns the first
/// error.
async fn reconcile(
    node: Option<&NodeClient>,
    state: &State,
    status: &Status,
    published: &mut Published,
) -> Result<(), NodeError> {
    // Before the first discovery, the GPUs are unknown, which differs from a node without GPUs.
    if status.scans == 0 && status.driver_error.is_none() && status.config_error.is_none() {
        return Ok(());
    }
    let labels = publish_metadata(node, state, status, published).await;
    let Some(node) = node else {
        return labels;
    };
    let condition = publish_condition(node, state, status, published).await;
    let taint = remove_startup_taint(node, state, status, published).await;
    labels.and(condition).and(taint)
}

/// Publishes the labels where the configuration wants them, and removes them elsewhere: a changed configuration must
/// not leave labels that later become wrong. Labels that an earlier process applied to the Node are removed as well.
/// The Node always gets the annotation with its GPUs.
async fn publish_metadata(
    node: Option<&NodeClient>,
    state: &State,
    status: &Status,
    published: &mut Published,
) -> Result<(), NodeError> {
    if status.scans == 0 {
        return Ok(());
    }
    let labels = node_labels(state, None);
    let (for_node, for_file) = match &state.config.labels {
        LabelOutput::Node => (labels, None),
        LabelOutput::FeatureFile { path } => (BTreeMap::new(), Some((path.clone(), labels))),
        LabelOutput::None => (BTreeMap::new(), None),
    };
    publish_feature_file(for_file, published);
    let metadata = NodeMetadata {
        labels: for_node,
        annotations: annotations(state),
    };
    if let Some(node) = node
        && published.metadata.as_ref() != Some(&metadata)
    {
        node.apply_metadata(&metadata).await?;
        published.metadata = Some(metadata);
    }
    Ok(())
}

/// Writes the label file, and removes one at another path.
fn publish_feature_file(
    wanted: Option<(String, BTreeMap<String, String>)>,
    published: &mut Published,
) {
    if published.feature_file == wanted {
        return;
    }
    let path = wanted.as_ref().map(|(path, _)| path);
    if let Some((before, _)) = &published.feature_file
        && path != Some(before)
        && let Err(error) = feature_file::remove(Path::new(before))
    {
        warn!("cannot remove the labels in {before}: {error}");
    }
    if let Some((path, labels)) = &wanted
        && let Err(error) = feature_file::write(Path::new(path), labels)
    {
        warn!("cannot write the labels to {path}: {error}");
    }
    published.feature_file = wanted;
}

async fn publish_condition(
    node: &NodeClient,
    state: &State,
    status: &Status,
    published: &mut Published,
) -> Result<(), NodeError> {
    let health_report = health_report(state, status);
    if published.health_report.as_ref() != Some(&health_report) {
        node.update_condition(&health_report).await?;
        published.health_report = Some(health_report);
    }
    Ok(())
}

async fn remove_startup_taint(
    node: &NodeClient,
    state: &State,
    status: &Status,
    published: &mut Published,
) -> Result<(), NodeError> {
    let has_resources = !state.advertised_resources.is_empty();
    let registered = state
        .advertised_resources
        .iter()
        .all(|resource| status.registered.contains(&resource.resource));
    match &state.config.startup_taint {
        Some(key) if has_resources && registered => {
            if !published.is_untainted(key) {
                if node.remove_taint(key).await? {
                    info!("removed the taint {key}: the node is ready for pods");
                }
                published.untainted = Some((key.clone(), Instant::now()));
            }
        }
        _ => published.untainted = None,
    }
    Ok(())
}

/// Creates events for changes of device health until the channel closes. A failed event is not retried: the condition
/// has the same information.
async fn create_events(node: Option<&NodeClient>, mut changes: mpsc::Receiver<Reaction>) {
    let Some(node) = node else {
        return;
    };
    let mut log = ErrorLog::default();
    while let Some(reaction) = changes.recv().await {
        let became_unhealthy = reaction.became_unhealthy.iter();
        let became_unhealthy = became_unhealthy
            .map(|(uuid, cause)| (true, "GPUUnhealthy", format!("{uuid}: {cause}")));
        let recovered = reaction.recovered.iter();
        let recovered = recovered.map(|uuid| (false, "GPURecovered", format!("{uuid} recovered")));
        for (warning, reason, message) in became_unhealthy.chain(recovered) {
            match node.create_event(warning, reason, &message).await {
                Ok(()) => drop(log.clear()),
                Err(error) if log.is_new(&error) => warn!("cannot create an event: {error}"),
                Err(error) => debug!("cannot create an event: {error}"),
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::super::api_server::{NODE, ServerState, start_server};
    use super::*;
    use crate::config;
    use crate::device::advertised_resources;
    use crate::device::testing::inventory;
    use crate::host::HostFiles;

    const CONFIG: &str = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "slices",
        "expected": {"model": "l4-24gb", "count": 1},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {"nvidia.com/gpu": 1},
        "startupTaint": "gpuc.dev/starting"
    }"#;

    pub(in super::super) fn state() -> State {
        let config = config::parse(CONFIG).unwrap();
        let inventory = inventory("l4x1");
        State {
            advertised_resources: advertised_resources(&inventory, &config.sharing),
            config: Arc::new(config),
            inventory: Arc::new(inventory),
            files: Arc::new(HostFiles::default()),
            unhealthy: BTreeMap::new(),
        }
    }

    fn scanned() -> Status {
        Status {
            scans: 1,
            ..Status::default()
        }
    }

    #[tokio::test]
    async fn labels_follow_the_configured_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpuc").display().to_string();
        let (client, known) = start_server(ServerState {
            labels: BTreeMap::from([("zone".to_owned(), "a".to_owned())]),
            ..ServerState::default()
        });
        let (node, mut state, mut published) = (
            NodeClient::new(&client, NODE),
            state(),
            Published::default(),
        );
        let file = LabelOutput::FeatureFile { path: path.clone() };
        let orders = [
            LabelOutput::None,
            LabelOutput::Node,
            LabelOutput::None,
            file.clone(),
            LabelOutput::Node,
            file,
            LabelOutput::None,
        ];
        for output in orders {
            let config = Arc::make_mut(&mut state.config);
            config.labels = output.clone();
            reconcile(Some(&node), &state, &scanned(), &mut published)
                .await
                .unwrap();
            let on_node = known.lock().unwrap().labels.len() > 1;
            assert_eq!(on_node, output == LabelOutput::Node, "{output:?}");
            let in_file = Path::new(&path).exists();
            let to_file = matches!(output, LabelOutput::FeatureFile { .. });
            assert_eq!(in_file, to_file, "{output:?}");
            assert_eq!(known.lock().unwrap().labels["zone"], "a");
        }
    }

    /// The configuration of a restarted daemon no longer has labels.
    #[tokio::test]
    async fn labels_of_an_earlier_process_are_removed() {
        let (client, known) = start_server(ServerState::default());
        let (node, mut state) = (NodeClient::new(&client, NODE), state());
        Arc::make_mut(&mut state.config).labels = LabelOutput::Node;
        reconcile(Some(&node), &state, &scanned(), &mut Published::default())
            .await
            .unwrap();
        assert!(!known.lock().unwrap().labels.is_empty());
        Arc::make_mut(&mut state.config).labels = LabelOutput::None;
        reconcile(Some(&node), &state, &scanned(), &mut Published::default())
            .await
            .unwrap();
        assert!(known.lock().unwrap().labels.is_empty());
    }

    #[tokio::test]
    async fn startup_taint_is_removed_whenever_it_returns() {
        let taint = json!({"key": "gpuc.dev/starting", "effect": "NoSchedule"});
        let (client, known) = start_server(ServerState {
            taints: vec![taint.clone()],
            ..ServerState::default()
        });
        let (node, state) = (NodeClient::new(&client, NODE), state());
        let (mut status, mut published) = (Status::default(), Published::default());
        let taints = || known.lock().unwrap().taints.len();
        status.scans = 1;
        let tell = async |status: &Status, published: &mut Published| {
            let published = reconcile(Some(&node), &state, status, published).await;
            published.unwrap();
        };
        tell(&status, &mut published).await;
        assert_eq!(taints(), 1, "the kubelet has not taken the resource");
        assert!(published.next_check().is_none());

        status.registered.insert("nvidia.com/gpu".to_owned());
        tell(&status, &mut published).await;
        assert_eq!(taints(), 0);

        known.lock().unwrap().taints.push(taint.clone());
        tell(&status, &mut published).await;
        assert_eq!(taints(), 1, "the taint is not checked every time");
        assert!(published.next_check().is_some_and(|at| at > Instant::now()));
        let (_, at) = published.untainted.as_mut().unwrap();
        *at -= POLL_INTERVAL;
        assert!(
            published
                .next_check()
                .is_some_and(|at| at <= Instant::now())
        );
        tell(&status, &mut published).await;
        assert_eq!(taints(), 0);

        status.registered.clear();
        tell(&status, &mut published).await;
        assert!(
            published.next_check().is_none(),
            "a node that is not ready waits for a change"
        );
    }

    #[tokio::test]
    async fn the_annotation_follows_the_gpus_for_every_label_output() {
        let (client, known) = start_server(ServerState::default());
        let node = NodeClient::new(&client, NODE);
        let (mut state, mut published) = (state(), Published::default());
        for output in [LabelOutput::None, LabelOutput::Node] {
            let mut config = (*state.config).clone();
            config.labels = output;
            state.config = Arc::new(config);
            for cause in ["Xid 79", "Xid 48"] {
                let uuid = state.inventory.gpus[0].id();
                state.unhealthy = [(uuid, cause.to_owned())].into();
                reconcile(Some(&node), &state, &scanned(), &mut published)
                    .await
                    .unwrap();
                let annotations = known.lock().unwrap().annotations.clone();
                assert!(
                    annotations["gpuc.dev/gpus"].contains(cause),
                    "{annotations:?}"
                );
            }
        }
    }
}
