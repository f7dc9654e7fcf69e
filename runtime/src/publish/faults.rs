//! Publishing to an API server that has faults.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::api_server::{Fault, NODE, ServerState, start_server};
use super::node_publisher::tests::state;
use super::{
    HealthReport, MAX_QUEUED_CHANGES, NodeClient, NodeError, NodeMetadata, PublisherInputs,
    REQUEST_TIMEOUT, run_node_publisher,
};
use crate::health::Reaction;
use crate::run::Status;
use crate::state::State;

/// Ends a test that hangs.
const TEST_TIMEOUT: Duration = Duration::from_mins(10);

const CONDITION_PATCH: &str = "PATCH /api/v1/nodes/node-1/status";

/// A publisher of a node with one GPU, and its API server.
struct TestPublisher {
    server: Arc<Mutex<ServerState>>,
    state: watch::Sender<Arc<State>>,
    status: watch::Sender<Status>,
    changes: mpsc::Sender<Reaction>,
}

impl TestPublisher {
    /// Starts a publisher. The GPU is discovered and registered.
    fn start(faults: &[(&'static str, Fault)]) -> Self {
        let (client, server) = start_server(ServerState {
            taints: vec![json!({"key": "gpuc.dev/starting", "effect": "NoSchedule"})],
            faults: faults.iter().cloned().collect(),
            ..ServerState::default()
        });
        let mut first = state();
        let mut config = (*first.config).clone();
        config.labels = gpuc_schema::node_config::LabelOutput::Node;
        first.config = Arc::new(config);
        let (state, states) = watch::channel(Arc::new(first));
        let (status, statuses) = watch::channel(Status::default());
        let (changes, queue) = mpsc::channel(MAX_QUEUED_CHANGES);
        tokio::spawn(run_node_publisher(
            Some(NodeClient::new(&client, NODE)),
            PublisherInputs {
                state: states,
                status: statuses,
                changes: queue,
            },
        ));
        status.send_modify(|status| {
            status.scans = 1;
            status.registered.insert("nvidia.com/gpu".to_owned());
        });
        Self {
            server,
            state,
            status,
            changes,
        }
    }

    fn server(&self) -> MutexGuard<'_, ServerState> {
        self.server.lock().unwrap()
    }

    /// Waits until the server meets a condition. Returns the time that it took.
    async fn wait_until(
        &self,
        what: &str,
        mut condition: impl FnMut(&ServerState) -> bool,
    ) -> Duration {
        let start = Instant::now();
        while !condition(&self.server()) {
            assert!(
                start.elapsed() < TEST_TIMEOUT,
                "timeout: {what}: {:?}",
                self.server()
            );
            sleep(Duration::from_millis(100)).await;
        }
        start.elapsed()
    }

    async fn wait_until_published(&self) -> Duration {
        self.wait_until("labels, condition and taint are published", |server| {
            !server.labels.is_empty() && !server.conditions.is_empty() && server.taints.is_empty()
        })
        .await
    }
}

fn reaction(uuid: &str) -> Reaction {
    Reaction {
        became_unhealthy: vec![(uuid.to_owned(), "Xid 79".to_owned())],
        ..Reaction::default()
    }
}

fn all_faults() -> Vec<Fault> {
    vec![
        Fault::Hang,
        Fault::HangInBody,
        Fault::Late(REQUEST_TIMEOUT * 2),
        Fault::Garbage,
        Fault::Truncated,
        Fault::Refused(409, "Conflict"),
        Fault::Refused(429, "TooManyRequests"),
        Fault::Refused(500, "InternalError"),
    ]
}

#[tokio::test(start_paused = true)]
async fn updates_succeed_after_each_fault() {
    for fault in all_faults() {
        let test = TestPublisher::start(&[("", fault.clone())]);
        // Long enough for several attempts with the longest of these faults.
        sleep(Duration::from_mins(5)).await;
        let attempts = test.server().requests.len();
        assert!(
            (3..=60).contains(&attempts),
            "{fault:?}: {attempts} requests"
        );
        test.server().faults.clear();
        let took = test.wait_until_published().await;
        assert!(took < Duration::from_mins(3), "{fault:?}: {took:?}");
    }
}

/// An admission webhook or policy can affect one kind of request only.
#[tokio::test(start_paused = true)]
async fn failed_labels_do_not_prevent_other_updates() {
    for fault in all_faults() {
        let test = TestPublisher::start(&[("PATCH /api/v1/nodes/node-1", fault.clone())]);
        // The condition and the taint are patches as well; the longest match counts.
        let late = Fault::Late(Duration::ZERO);
        test.server().faults.insert(CONDITION_PATCH, late);
        test.wait_until("the condition is published", |server| {
            !server.conditions.is_empty()
        })
        .await;
        test.state.send_modify(|state| {
            let unhealthy = &mut Arc::make_mut(state).unhealthy;
            unhealthy.insert("GPU-0".to_owned(), "Xid 79".to_owned());
        });
        test.wait_until("the new condition is published", |server| {
            server
                .conditions
                .iter()
                .any(|condition| condition["reason"] == "GPUUnhealthy")
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_events_do_not_delay_other_updates() {
    let test = TestPublisher::start(&[("POST", Fault::Hang)]);
    test.wait_until_published().await;
    for number in 0..200 {
        // Those that exceed the capacity are dropped.
        drop(test.changes.try_send(reaction(&format!("GPU-{number}"))));
    }
    assert_eq!(test.changes.capacity(), 0);
    test.state.send_modify(|state| {
        let unhealthy = &mut Arc::make_mut(state).unhealthy;
        unhealthy.insert("GPU-0".to_owned(), "Xid 79".to_owned());
    });
    let took = test
        .wait_until("the condition is published", |server| {
            server
                .conditions
                .iter()
                .any(|condition| condition["reason"] == "GPUUnhealthy")
        })
        .await;
    assert!(took < REQUEST_TIMEOUT, "{took:?}");
    test.server().faults.clear();
    test.wait_until("later events are created", |server| {
        !server.events.is_empty()
    })
    .await;
    assert!(test.status.receiver_count() > 0, "the publisher is running");
}

/// A client of a server at this address, with a short timeout.
fn tcp_client(address: SocketAddr, limit: Duration) -> NodeClient {
    let uri = format!("http://{address}").parse().unwrap();
    let client = NodeClient::connect(kube::Config::new(uri), NODE).unwrap();
    client.with_timeout(limit)
}

/// Accepts connections, reads, and sends `answer` to each. Without an answer, the connections stay open.
async fn serve_answer(answer: Option<&'static [u8]>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            if let Some(answer) = answer {
                let mut request = [0; 4096];
                // The client can have disconnected.
                drop(stream.read(&mut request).await);
                drop(stream.write_all(answer).await);
            } else {
                open.push(stream);
            }
        }
    });
    address
}

#[tokio::test]
async fn server_that_accepts_and_never_responds_times_out() {
    let limit = Duration::from_millis(200);
    let node = tcp_client(serve_answer(None).await, limit);
    let report = HealthReport {
        healthy: Some(true),
        reason: "GPUsHealthy",
        message: String::new(),
    };
    let requests = async {
        [
            node.apply_metadata(&NodeMetadata::default()).await.err(),
            node.update_condition(&report).await.err(),
            node.create_event(true, "GPUUnhealthy", "Xid 79")
                .await
                .err(),
            node.remove_taint("gpuc.dev/starting").await.err(),
        ]
    };
    let errors = timeout(Duration::from_secs(20), requests)
        .await
        .expect("no request hangs");
    for error in errors {
        assert!(matches!(error, Some(NodeError::TimedOut(_))), "{error:?}");
    }
}

#[tokio::test]
async fn broken_responses_are_errors() {
    let answers: [&[u8]; 5] = [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{\"kind\": \"No",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ];
    for answer in answers {
        let node = tcp_client(serve_answer(Some(answer)).await, Duration::from_secs(20));
        let error = node
            .apply_metadata(&NodeMetadata::default())
            .await
            .unwrap_err();
        assert!(matches!(error, NodeError::Failed(_)), "{error}");
    }
}

/// The condition shows a configuration that the daemon cannot use, before and after the first discovery.
#[tokio::test(start_paused = true)]
async fn configuration_problems_are_published() {
    let test = TestPublisher::start(&[]);
    let has_reason = |reason: &'static str| {
        move |server: &ServerState| {
            let mut conditions = server.conditions.iter();
            conditions.any(|condition| condition["reason"] == reason)
        }
    };
    test.wait_until("healthy", has_reason("GPUsHealthy")).await;
    let error = Some("is invalid".to_owned());
    for (status, reason) in [
        (
            Status {
                config_error: error.clone(),
                ..Status::default()
            },
            "InvalidConfiguration",
        ),
        (
            Status {
                scans: 1,
                unknown_keys: vec!["metrics.newKey".to_owned()],
                ..Status::default()
            },
            "UnknownConfiguration",
        ),
        (
            Status {
                scans: 1,
                config_error: error,
                unknown_keys: vec!["metrics.newKey".to_owned()],
                ..Status::default()
            },
            "InvalidConfiguration",
        ),
        (
            Status {
                scans: 1,
                ..Status::default()
            },
            "GPUsHealthy",
        ),
    ] {
        test.status.send_replace(status);
        test.wait_until(reason, has_reason(reason)).await;
    }
}
