//! Signals: shutdown and rediscovery.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use super::{GPU, H100, Node, settle};

fn sockets(node: &Node) -> Vec<String> {
    let entries = fs::read_dir(node.path("device-plugins")).unwrap();
    let entries = entries.map(|entry| entry.unwrap());
    let sockets = entries.filter(|it| it.file_type().unwrap().is_socket());
    let names = sockets.map(|it| it.file_name().into_string().unwrap());
    names.filter(|name| name != "kubelet.sock").collect()
}

#[tokio::test]
async fn shutdown_is_quick_and_clean() {
    for signal in ["TERM", "INT", "QUIT"] {
        let mut node = Node::running(H100).await;
        assert_eq!(sockets(&node).len(), 1);
        let start = Instant::now();
        node.signal(signal);
        assert_eq!(node.wait_for_exit().await.code(), Some(0), "{signal}");
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
        assert_eq!(sockets(&node), [""; 0]);
    }
}

/// A hanging driver delays neither allocations, probes and metrics nor the shutdown.
#[tokio::test]
async fn hanging_driver_does_not_delay_shutdown() {
    let mut node = Node::running(H100).await;
    let scans = node.driver.calls("nvmlSystemGetCudaDriverVersion_v2");
    node.driver.set("latency_us", "30000000");
    node.signal("HUP");
    node.wait_until("a call that hangs", |node| {
        node.driver.calls("nvmlSystemGetCudaDriverVersion_v2") > scans
    })
    .await;
    let start = Instant::now();
    node.wait_for_response("/healthz", 200, "ok").await;
    node.metrics().await;
    node.allocate(GPU, &["GPU-0"]).await.unwrap();
    node.signal("TERM");
    assert_eq!(node.wait_for_exit().await.code(), Some(0));
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
    assert_eq!(sockets(&node), [""; 0]);
}

#[tokio::test]
async fn shutdown_without_driver_is_quick() {
    let mut node = Node::new("driver = 570.86.15");
    node.start();
    node.wait_for_response("/readyz", 503, "waiting for the driver")
        .await;
    let start = Instant::now();
    node.signal("TERM");
    assert_eq!(node.wait_for_exit().await.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn sighup_triggers_discovery() {
    let mut node = Node::running(H100).await;
    node.driver.set("gpus", "6");
    node.signal("HUP");
    node.wait_for_devices(GPU, 6, 6).await;
    node.driver.set("gpus", "8");
    node.signal("HUP");
    node.wait_for_devices(GPU, 8, 8).await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}

/// A wrong path is a mistake in the command line. A file with an invalid configuration can be corrected.
#[tokio::test]
async fn missing_configuration_at_start_is_fatal() {
    let mut node = Node::new(H100);
    std::fs::remove_file(node.path("etc/node.json")).unwrap();
    node.start();
    assert_eq!(node.wait_for_exit().await.code(), Some(1));
    node.wait_for_log("node.json").await;
}

/// A killed daemon leaves its socket. Its successor queries the driver for unhealthy GPUs.
#[tokio::test]
async fn restarted_daemon_finds_persistent_faults() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    node.signal("KILL");
    node.wait_for_exit().await;
    assert_eq!(sockets(&node).len(), 1);
    // The kubelet marks all devices as unhealthy.
    node.wait_for_devices(GPU, 8, 0).await;
    node.start();
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-3"), "{seen:?}");
}

/// The process that reads the log can exit before the daemon.
#[tokio::test]
async fn closed_log_pipe_is_not_fatal() {
    let mut node = Node::new(H100);
    node.kubelet.start().await;
    node.start_with_log(std::process::Stdio::piped());
    drop(node.process.as_mut().unwrap().stderr.take());
    node.wait_for_devices(GPU, 8, 8).await;
    node.signal("HUP");
    node.configure_with("{");
    node.wait_until_ready().await;
    settle().await;
    assert!(node.is_alive());
}
