//! Signals: shutdown and rediscovery.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{GPU, H100, Node, settle};

fn sockets(node: &Node) -> Vec<String> {
    let entries = fs::read_dir(node.path("device-plugins")).unwrap();
    let entries = entries.map(|entry| entry.unwrap());
    let sockets = entries.filter(|it| it.file_type().unwrap().is_socket());
    let names = sockets.map(|it| it.file_name().into_string().unwrap());
    names.filter(|name| name != "kubelet.sock").collect()
}

#[tokio::test]
async fn leaving_is_quick_and_leaves_nothing() {
    for signal in ["TERM", "INT", "QUIT"] {
        let mut node = Node::running(H100).await;
        assert_eq!(sockets(&node).len(), 1);
        let begin = Instant::now();
        node.signal(signal);
        assert_eq!(node.end().await.code(), Some(0), "{signal}");
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert_eq!(sockets(&node), [""; 0]);
    }
}

/// A driver that hangs holds up neither the answers to pods and probes nor the end.
#[tokio::test]
async fn a_driver_that_hangs_holds_nothing_up() {
    let mut node = Node::running(H100).await;
    let scans = node.driver.calls("nvmlSystemGetCudaDriverVersion_v2");
    node.driver.set("latency_us", "30000000");
    node.signal("HUP");
    node.until("a call that hangs", |node| {
        node.driver.calls("nvmlSystemGetCudaDriverVersion_v2") > scans
    })
    .await;
    let begin = Instant::now();
    node.answers("/healthz", 200, "ok").await;
    node.metrics().await;
    node.allocate(GPU, &["GPU-0"]).await.unwrap();
    node.signal("TERM");
    assert_eq!(node.end().await.code(), Some(0));
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(sockets(&node), [""; 0]);
}

#[tokio::test]
async fn leaving_before_the_driver_is_there_is_quick() {
    let mut node = Node::new("driver = 570.86.15");
    node.start();
    node.answers("/readyz", 503, "waiting for the driver").await;
    let begin = Instant::now();
    node.signal("TERM");
    assert_eq!(node.end().await.code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_hang_up_makes_it_look_again() {
    let mut node = Node::running(H100).await;
    node.driver.set("gpus", "6");
    node.signal("HUP");
    node.offers(GPU, 6, 6).await;
    node.driver.set("gpus", "8");
    node.signal("HUP");
    node.offers(GPU, 8, 8).await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}

/// An invalid configuration at startup is reported, and the process exits.
#[tokio::test]
async fn a_configuration_that_is_bad_at_start_ends_it() {
    let mut node = Node::new(H100);
    node.configure_with("{");
    node.start();
    assert_eq!(node.end().await.code(), Some(1));
    node.says("node.json").await;
}

/// A killed daemon leaves its files, and the next one learns from the driver which devices are unhealthy.
#[tokio::test]
async fn a_daemon_that_was_killed_is_followed_by_one_that_knows_what_is_ill() {
    let mut node = Node::running(H100).await;
    node.listens().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.offers(GPU, 8, 7).await;
    node.signal("KILL");
    node.end().await;
    assert_eq!(sockets(&node).len(), 1);
    // All that it listed is lost for the kubelet.
    node.offers(GPU, 8, 0).await;
    node.start();
    let seen = node.offers(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-3"), "{seen:?}");
}

/// Only the driver is asked: what it does not report any more is over with the daemon that saw it.
#[tokio::test]
async fn a_daemon_that_was_killed_is_followed_by_one_that_believes_the_driver() {
    let mut node = Node::new(H100);
    node.config["health"] = json!({"watch": true});
    node.configure();
    node.meet().await;
    node.listens().await;
    node.driver.event("3 xid 94");
    node.offers(GPU, 8, 7).await;
    node.signal("KILL");
    node.end().await;
    node.offers(GPU, 8, 0).await;
    node.start();
    node.offers(GPU, 8, 8).await;
}

/// The reader of the log may end before the daemon does.
#[tokio::test]
async fn a_log_that_nobody_reads_ends_nothing() {
    let mut node = Node::new(H100);
    node.kubelet.start().await;
    node.start_with_log(std::process::Stdio::piped());
    drop(node.process.as_mut().unwrap().stderr.take());
    node.offers(GPU, 8, 8).await;
    node.signal("HUP");
    node.configure_with("{");
    node.is_ready().await;
    settle().await;
    assert!(node.is_alive());
}
