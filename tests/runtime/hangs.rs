//! The daemon with a driver whose calls do not return, and with GPUs that appear, disappear and change their indexes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gpuc_runtime::config;
use gpuc_runtime::device::Gpu;
use gpuc_runtime::metrics::PluginMetrics;
use gpuc_runtime::nvml::DriverHandle;
use gpuc_runtime::nvml::NvmlErrorKind;
use gpuc_runtime::nvml::fake::{Control, Fake};
use gpuc_runtime::nvml::guard::JobCount;
use gpuc_runtime::run::{Daemon, DriverLoader, Event, HealthStore, Outputs, Status};
use gpuc_runtime::state::State;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Ends a test that hangs. The slowest reaction is to a wait for events that does not return: 15 s.
const TEST_TIMEOUT: Duration = Duration::from_secs(40);

/// The time limit of a driver call in these tests.
const CALL_TIMEOUT: Duration = Duration::from_millis(300);

const CONFIG: &str = r#"{
    "apiVersion": "node.gpuc.dev/v1alpha1",
    "kind": "NodeConfig",
    "cluster": "demo",
    "pool": "train",
    "expected": {"model": "h100-sxm5-80gb", "count": 8},
    "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
    "devices": "environmentVariable",
    "sharing": "exclusive",
    "resources": {"nvidia.com/gpu": 8},
    "health": {"watch": true, "quietSeconds": QUIET_SECONDS}
}"#;

/// A daemon in this process, with eight simulated H100.
pub(crate) struct Node {
    pub(crate) control: Control,
    /// The jobs that call the driver.
    pub(crate) jobs: JobCount,
    events: mpsc::UnboundedSender<Event>,
    pub(crate) state: watch::Receiver<Arc<State>>,
    pub(crate) status: watch::Receiver<Status>,
    _changes: mpsc::Receiver<gpuc_runtime::health::Reaction>,
    _folder: tempfile::TempDir,
}

impl Node {
    /// Starts the daemon after this change of the machine.
    fn start(change: impl FnOnce(&Control)) -> Self {
        Self::start_with(3600, CALL_TIMEOUT, change)
    }

    /// Starts the daemon with this quiet time in seconds and this time limit of driver calls.
    pub(crate) fn start_with(
        quiet_seconds: u64,
        call_timeout: Duration,
        change: impl FnOnce(&Control),
    ) -> Self {
        let fake = Fake::from_description("h100x8").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let roots = fake.write_roots(folder.path()).unwrap();
        let control = fake.control();
        change(&control);
        let config = CONFIG.replace("QUIET_SECONDS", &quiet_seconds.to_string());
        let config = config::parse_known(&config).unwrap();
        let (events, received) = mpsc::unbounded_channel();
        let (state_sender, state) = watch::channel(Daemon::empty_state(&config.config));
        let (status_sender, status) = watch::channel(Status::default());
        let (change_sender, changes) = mpsc::channel(64);
        let outputs = Outputs {
            state: state_sender,
            status: status_sender,
            changes: change_sender,
            metrics: PluginMetrics::default(),
            driver: DriverHandle::default(),
        };
        let loader = DriverLoader::new(roots, Some(fake)).with_call_timeout(call_timeout);
        let jobs = loader.job_count();
        let sender = events.clone();
        tokio::spawn(async move {
            let store = HealthStore::new(None, Path::new("/proc"));
            Daemon::new(config, loader, sender, outputs, store)
                .run(received)
                .await;
        });
        Self {
            control,
            jobs,
            events,
            state,
            status,
            _changes: changes,
            _folder: folder,
        }
    }

    /// Starts the daemon and waits until eight GPUs are advertised and their events are received.
    async fn running() -> Self {
        let mut node = Self::start(|_| {});
        node.wait_for_state("eight GPUs", |state| state.inventory.gpus.len() == 8)
            .await;
        node.wait_for_subscriptions(1).await;
        node
    }

    fn rescan(&self) {
        assert!(self.events.send(Event::Rescan).is_ok());
    }

    async fn wait_for_state(&mut self, what: &str, mut condition: impl FnMut(&State) -> bool) {
        let wait = self.state.wait_for(|state| condition(state));
        let waited = timeout(TEST_TIMEOUT, wait).await.map(drop);
        let unhealthy = self.state.borrow().unhealthy.clone();
        assert!(waited.is_ok(), "no {what}: {unhealthy:?}");
    }

    async fn wait_for_status(&mut self, what: &str, mut condition: impl FnMut(&Status) -> bool) {
        let wait = self.status.wait_for(|status| condition(status));
        let waited = timeout(TEST_TIMEOUT, wait).await.map(drop);
        let status = self.status.borrow().clone();
        assert!(waited.is_ok(), "no {what}: {status:?}");
    }

    async fn wait_for_subscriptions(&self, count: usize) {
        let wait = async {
            while self.control.subscription_count() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(TEST_TIMEOUT, wait).await.is_ok());
    }

    /// The UUID of the GPU with this index.
    pub(crate) fn uuid(&self, index: u32) -> String {
        let state = self.state.borrow();
        state.inventory.gpu(index).map(Gpu::id).unwrap()
    }

    /// Waits until exactly these GPUs are unhealthy, the first one for a reason with this text.
    async fn wait_for_unhealthy(&mut self, uuids: &[&str], reason: &str) {
        let what = format!("{uuids:?}: {reason}");
        let mut uuids: Vec<_> = uuids.iter().map(ToString::to_string).collect();
        let first = uuids.first().cloned();
        uuids.sort_unstable();
        self.wait_for_state(&what, |state| {
            let has_reason = |uuid: &String| state.unhealthy[uuid].contains(reason);
            state.unhealthy.keys().eq(&uuids) && first.as_ref().is_none_or(has_reason)
        })
        .await;
    }

    /// Waits until the events of this GPU are received: sends Xid 94 until the GPU is unhealthy because of it.
    async fn assert_monitored(&mut self, index: u32) {
        let uuid = self.uuid(index);
        let wait = async {
            while !self.state.borrow().unhealthy.contains_key(&uuid) {
                self.control.send_xid(index, 94, None);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        assert!(timeout(TEST_TIMEOUT, wait).await.is_ok(), "GPU {index}");
        self.wait_for_unhealthy(&[&uuid], "Xid 94").await;
    }
}

const HANGS: &str = "the driver has not answered";

#[tokio::test]
async fn gpu_whose_calls_hang_is_unhealthy() {
    for function in ["gpu", "condition"] {
        let mut node = Node::running().await;
        let (hung, lost) = (node.uuid(3), node.uuid(5));
        node.control.hang(function, Some(3));
        node.rescan();
        node.wait_for_unhealthy(&[&hung], HANGS).await;
        node.wait_for_status("overdue call", |status| status.overdue_calls.len() == 1)
            .await;
        // Other GPUs are still queried.
        node.control.lose(5);
        node.rescan();
        node.wait_for_unhealthy(&[&hung, &lost], HANGS).await;
        assert!(node.status.borrow().driver_error.is_none());
        node.control.release();
        node.control.bring_back(5);
        node.wait_for_status("answer", |status| status.overdue_calls.is_empty())
            .await;
        // The quiet time after the fault is an hour.
        node.wait_for_state("answer of GPU 3", |state| {
            !state
                .unhealthy
                .get(&hung)
                .is_some_and(|it| it.contains(HANGS) && function == "gpu")
        })
        .await;
    }
}

/// After the first GPU that hangs, the others are queried at the same time, each on a thread of its own.
#[tokio::test]
async fn gpus_that_hang_together_are_noticed_together() {
    let mut node = Node::start_with(3600, Duration::from_secs(1), |_| {});
    node.wait_for_state("eight GPUs", |state| state.inventory.gpus.len() == 8)
        .await;
    for gpu in 0..8 {
        node.control.hang("condition", Some(gpu));
    }
    node.wait_for_status("overdue call", |status| !status.overdue_calls.is_empty())
        .await;
    let waiting = async {
        // One thread for each GPU.
        while node.jobs.get() < 8 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(TEST_TIMEOUT, waiting).await.is_ok());
    let overdue = node.status.borrow().overdue_calls.len();
    assert!(
        overdue < 7,
        "{overdue} GPUs were noticed one after the other"
    );
    node.wait_for_state("unhealthy GPUs", |state| state.unhealthy.len() == 8)
        .await;
}

/// The links between GPUs take most of the calls of a discovery, and only preferred allocations need them.
#[tokio::test]
async fn gpus_are_advertised_before_their_links_are_read() {
    let mut node = Node::start(|control| control.hang("link", None));
    node.wait_for_state("eight healthy GPUs", |state| {
        state.advertised_resources.len() == 1
            && state.advertised_resources[0].devices.len() == 8
            && state.unhealthy.is_empty()
    })
    .await;
    assert!(!node.state.borrow().inventory.topology.has_link(0, 1));
    node.control.release();
    node.wait_for_state("links", |state| {
        (0..7).all(|gpu| state.inventory.topology.has_link(gpu, 7))
    })
    .await;
}

#[tokio::test]
async fn driver_that_hangs_is_not_ready_and_recovers() {
    let mut node = Node::running().await;
    for function in ["driver", "gpu_count", "gpu", "condition", "link", "watch"] {
        node.control.hang(function, None);
    }
    node.rescan();
    node.wait_for_status("error", |status| {
        let error = status.driver_error.as_deref();
        error.is_some_and(|error| error.contains(HANGS))
    })
    .await;
    node.wait_for_state("unhealthy GPUs", |state| state.unhealthy.len() == 8)
        .await;
    node.control.release();
    node.wait_for_status("recovery", |status| status.driver_error.is_none())
        .await;
    node.assert_advertised_again().await;
}

impl Node {
    /// Waits until no GPU is unhealthy because the driver cannot be used.
    async fn assert_advertised_again(&mut self) {
        self.wait_for_state("loaded driver", |state| {
            let mut reasons = state.unhealthy.values();
            !reasons.any(|reason| reason.contains("the driver cannot be used"))
        })
        .await;
    }
}

#[tokio::test]
async fn links_that_hang_do_not_affect_gpus() {
    let mut node = Node::start(|control| control.hang("link", None));
    node.wait_for_state("eight GPUs", |state| state.inventory.gpus.len() == 8)
        .await;
    assert!(node.state.borrow().unhealthy.is_empty());
}

#[tokio::test]
async fn wait_for_events_that_hangs_is_reported_and_replaced() {
    let mut node = Node::running().await;
    node.control.hang("wait", None);
    node.wait_for_status("error", |status| {
        let error = status.monitoring_error.as_deref();
        error.is_some_and(|error| error.contains(HANGS))
    })
    .await;
    assert!(node.state.borrow().unhealthy.is_empty());
    node.control.release();
    node.wait_for_status("recovery", |status| status.monitoring_error.is_none())
        .await;
    node.assert_monitored(6).await;
}

/// A GPU that falls off the bus without an event.
#[tokio::test]
async fn lost_gpu_is_noticed_without_an_event() {
    let mut node = Node::running().await;
    let uuid = node.uuid(3);
    node.control.lose(3);
    let start = std::time::Instant::now();
    node.wait_for_unhealthy(&[&uuid], "lost").await;
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}

#[tokio::test]
async fn gpu_that_was_not_ready_is_monitored_later() {
    let mut node = Node::start(|control| {
        control.fail_gpu(3, NvmlErrorKind::Other);
    });
    node.wait_for_state("eight GPUs", |state| state.inventory.gpus.len() == 8)
        .await;
    node.control.bring_back(3);
    node.rescan();
    node.wait_for_state("answer", |state| {
        matches!(state.inventory.gpu(3), Some(Gpu::Responding { .. }))
    })
    .await;
    let uuid = node.uuid(3);
    let has_xid = |state: &State| {
        let reason = state.unhealthy.get(&uuid);
        reason.is_some_and(|reason| reason.contains("Xid 94"))
    };
    let wait = async {
        while !has_xid(&node.state.borrow()) {
            node.control.send_xid(3, 94, None);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(TEST_TIMEOUT, wait).await.is_ok());
}

#[tokio::test]
async fn added_gpu_is_monitored() {
    let mut node = Node::running().await;
    node.control.insert_gpu(8, "new");
    node.rescan();
    node.wait_for_state("nine GPUs", |state| state.inventory.gpus.len() == 9)
        .await;
    node.assert_monitored(8).await;
}

/// After the removal of GPU 2, GPU 6 has the index 5.
#[tokio::test]
async fn event_after_renumbering_affects_the_right_gpu() {
    let mut node = Node::running().await;
    let uuid = node.uuid(6);
    node.control.remove_gpu(2);
    node.rescan();
    node.wait_for_state("seven GPUs", |state| state.inventory.gpus.len() == 7)
        .await;
    assert_eq!(node.uuid(5), uuid);
    node.control.send_xid(5, 94, None);
    node.wait_for_unhealthy(&[&uuid], "Xid 94").await;
    // The subscription is renewed without a gap.
    node.wait_for_subscriptions(1).await;
    node.control.send_xid(6, 94, None);
    let other = node.uuid(6);
    node.wait_for_unhealthy(&[&uuid, &other], "Xid 94").await;
}

impl Drop for Node {
    /// The threads of the test's runtime end.
    fn drop(&mut self) {
        self.control.release();
    }
}
