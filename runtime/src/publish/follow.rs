//! Keeps the cluster's picture of the node like the daemon's own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gpuc_schema::node_config::LabelOutput;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::feature_file;
use super::node::{OwnNode, Wellbeing};
use crate::health::Reaction;
use crate::labels::labels;
use crate::run::Status;
use crate::state::State;

/// How long to wait after the cluster did not take something: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Several changes within this time are written once: the cluster's memory is no place for every moment.
const SETTLED: Duration = Duration::from_millis(200);

/// How long until it is seen that somebody put the startup taint back: a cloud writes the taints of a pool onto nodes
/// that serve when any of them changes (EKS' `UpdateNodegroupConfig`, GKE's `node-pools update`).
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// What the daemon knows, as it becomes known.
pub struct Sources {
    /// Of the GPUs.
    pub state: watch::Receiver<Arc<State>>,
    /// Of itself.
    pub status: watch::Receiver<Status>,
    /// What fell ill and what is well again.
    pub changes: mpsc::UnboundedReceiver<Reaction>,
}

/// What the cluster has been told.
#[derive(Default)]
struct Told {
    labels: Option<BTreeMap<String, String>>,
    wellbeing: Option<Wellbeing>,
    untainted: Option<(String, Instant)>,
}

impl Told {
    /// Whether this taint was not there a moment ago.
    fn is_untainted(&self, key: &str) -> bool {
        let seen = self.untainted.as_ref();
        seen.is_some_and(|(seen, at)| seen == key && at.elapsed() < LOOK_AGAIN)
    }

    /// When to look again, where a taint was taken off.
    fn look_again(&self) -> Option<Instant> {
        let (_, at) = self.untainted.as_ref()?;
        Some(*at + LOOK_AGAIN)
    }
}

/// Tells the cluster whatever changes, for ever. Without a node, only the file of labels is written.
pub async fn follow(node: Option<OwnNode>, mut sources: Sources) {
    let mut told = Told::default();
    let mut patience = PATIENCE.0;
    let mut again: Option<Instant> = None;
    loop {
        tokio::select! {
            changed = sources.state.changed() => if changed.is_err() { return },
            changed = sources.status.changed() => if changed.is_err() { return },
            Some(reaction) = sources.changes.recv() => {
                if let Some(node) = &node {
                    tell(node, &reaction).await;
                }
                continue;
            }
            () = sleep_until(again), if again.is_some() => {}
        }
        tokio::time::sleep(SETTLED).await;
        let state = Arc::clone(&sources.state.borrow_and_update());
        let status = sources.status.borrow_and_update().clone();
        match bring_up_to_date(node.as_ref(), &state, &status, &mut told).await {
            Ok(()) => (again, patience) = (told.look_again(), PATIENCE.0),
            Err(error) => {
                warn!("the node object is behind, and tried again in {patience:?}: {error}");
                again = Some(Instant::now() + patience);
                patience = (patience * 2).min(PATIENCE.1);
            }
        }
    }
}

async fn bring_up_to_date(
    node: Option<&OwnNode>,
    state: &State,
    status: &Status,
    told: &mut Told,
) -> kube::Result<()> {
    // Before the driver was asked, nothing is known, which is not the same as that there is nothing.
    if status.scans == 0 && status.driver_trouble.is_none() {
        return Ok(());
    }
    if status.scans > 0 {
        let wanted = labels(state, None);
        if told.labels.as_ref() != Some(&wanted) {
            match (&state.config.labels, node) {
                (LabelOutput::None, _) | (LabelOutput::Node, None) => {}
                (LabelOutput::Node, Some(node)) => node.label(&wanted).await?,
                (LabelOutput::FeatureFile { path }, _) => {
                    if let Err(error) = feature_file::write(Path::new(path), &wanted) {
                        warn!("the labels cannot be written to {path}: {error}");
                    }
                }
            }
            told.labels = Some(wanted);
        }
    }
    let Some(node) = node else {
        return Ok(());
    };
    let wellbeing = wellbeing(state, status);
    if told.wellbeing.as_ref() != Some(&wellbeing) {
        node.report(&wellbeing).await?;
        told.wellbeing = Some(wellbeing);
    }
    let offered = !state.offers.is_empty();
    let registered = state
        .offers
        .iter()
        .all(|offer| status.registered.contains(&offer.resource));
    match &state.config.startup_taint {
        Some(key) if offered && registered => {
            if !told.is_untainted(key) {
                if node.untaint(key).await? {
                    info!("the taint {key} is off: pods may come");
                }
                told.untainted = Some((key.clone(), Instant::now()));
            }
        }
        _ => told.untainted = None,
    }
    Ok(())
}

/// Tells of what fell ill and what is well again. An event that is lost is not told again: the condition says the same.
async fn tell(node: &OwnNode, reaction: &Reaction) {
    let fell = reaction.fell.iter();
    let fell = fell.map(|(part, cause)| (true, "GPUUnhealthy", format!("{part}: {cause}")));
    let recovered = reaction.recovered.iter();
    let recovered = recovered.map(|part| (false, "GPURecovered", format!("{part} is well again")));
    for (warning, reason, message) in fell.chain(recovered) {
        if let Err(error) = node.tell(warning, reason, &message).await {
            debug!("an event was not written: {error}");
        }
    }
}

/// How the node's GPUs are, in a sentence.
fn wellbeing(state: &State, status: &Status) -> Wellbeing {
    let count = state.inventory.gpus.len();
    if let Some(trouble) = &status.driver_trouble {
        return Wellbeing {
            healthy: false,
            reason: "DriverMissing",
            message: trouble.clone(),
        };
    }
    if !state.unwell.is_empty() {
        let causes = state
            .unwell
            .iter()
            .map(|(part, cause)| format!("{part}: {cause}"));
        return Wellbeing {
            healthy: false,
            reason: "GPUUnhealthy",
            message: shortened(&causes.collect::<Vec<_>>().join("; ")),
        };
    }
    if !status.differences.is_empty() {
        return Wellbeing {
            healthy: false,
            reason: "NotAsConfigured",
            message: shortened(&status.differences.join("; ")),
        };
    }
    let s = if count == 1 { "" } else { "s" };
    Wellbeing {
        healthy: true,
        reason: "GPUsHealthy",
        message: format!("{count} GPU{s}, all well"),
    }
}

/// A message short enough for a node with sixteen GPUs to stay legible.
fn shortened(message: &str) -> String {
    const LONGEST: usize = 1000;
    if message.chars().count() <= LONGEST {
        return message.to_owned();
    }
    message.chars().take(LONGEST - 1).chain(['…']).collect()
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::api_server::{Known, NODE, server};
    use super::*;
    use crate::config;
    use crate::device::offers;
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

    fn state() -> State {
        let config = config::parse(CONFIG).unwrap();
        let inventory = inventory("l4x1");
        State {
            offers: offers(&inventory, &config.sharing),
            config: Arc::new(config),
            inventory: Arc::new(inventory),
            files: Arc::new(HostFiles::default()),
            unwell: BTreeMap::new(),
        }
    }

    #[tokio::test]
    async fn the_startup_taint_goes_when_the_node_is_ready_and_as_often_as_it_is_put_back() {
        let taint = json!({"key": "gpuc.dev/starting", "effect": "NoSchedule"});
        let (client, known) = server(Known {
            taints: vec![taint.clone()],
            ..Known::default()
        });
        let (node, state) = (OwnNode::new(&client, NODE), state());
        let (mut status, mut told) = (Status::default(), Told::default());
        let taints = || known.lock().unwrap().taints.len();
        status.scans = 1;
        let tell = async |status: &Status, told: &mut Told| {
            let told = bring_up_to_date(Some(&node), &state, status, told).await;
            told.unwrap();
        };
        tell(&status, &mut told).await;
        assert_eq!(taints(), 1, "the kubelet has not taken the resource");
        assert!(told.look_again().is_none());

        status.registered.insert("nvidia.com/gpu".to_owned());
        tell(&status, &mut told).await;
        assert_eq!(taints(), 0);

        known.lock().unwrap().taints.push(taint.clone());
        tell(&status, &mut told).await;
        assert_eq!(taints(), 1, "nobody asks at every moment");
        assert!(told.look_again().is_some_and(|at| at > Instant::now()));
        let (_, at) = told.untainted.as_mut().unwrap();
        *at -= LOOK_AGAIN;
        assert!(told.look_again().is_some_and(|at| at <= Instant::now()));
        tell(&status, &mut told).await;
        assert_eq!(taints(), 0);

        status.registered.clear();
        tell(&status, &mut told).await;
        assert!(
            told.look_again().is_none(),
            "a node that is not ready waits for a change"
        );
    }
}
