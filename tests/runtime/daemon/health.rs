//! Unhealthy and recovered GPUs in the kubelet's device list.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{GPU, H100, Node, settle};

#[tokio::test]
async fn application_errors_are_ignored() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 31");
    node.driver.event("4 xid 94");
    // The second event shows that the daemon has processed the first.
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-4"), "{seen:?}");
}

/// NVIDIA's plugin discards all faults when the kubelet restarts.
#[tokio::test]
async fn kubelet_restart_keeps_faults() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    for _ in 0..3 {
        node.kubelet.restart().await;
        let resource = node.kubelet.wait_for_registration(GPU).await;
        assert_eq!(resource.devices.len(), 8);
        assert!(!resource.healthy().contains(&"GPU-3"), "{resource:?}");
    }
    node.signal("HUP");
    settle().await;
    let seen = node.kubelet.seen().resource(GPU);
    assert_eq!(seen.healthy().len(), 7, "{seen:?}");
}

#[tokio::test]
async fn error_without_kubelet_is_kept() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.kubelet.stop().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_log("GPU-3 is unhealthy").await;
    node.kubelet.start().await;
    let resource = node.kubelet.wait_for_registration(GPU).await;
    assert_eq!((resource.devices.len(), resource.healthy().len()), (8, 7));
}

/// NVIDIA's plugin marks one of the ten replicas.
#[tokio::test]
async fn error_affects_all_replicas() {
    let mut node = Node::new(H100);
    node.config["sharing"] = json!({"timeSlicing": {"replicas": 10, "rename": false}});
    node.configure();
    node.start_all().await;
    node.wait_until_monitoring().await;
    node.wait_for_devices(GPU, 80, 80).await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    let seen = node.wait_for_devices(GPU, 80, 70).await;
    assert!(!seen.healthy().iter().any(|id| id.starts_with("GPU-3")));
    let error = node.allocate(GPU, &["GPU-3::4"]).await.unwrap_err();
    assert!(error.message().contains("GPU-3::4"), "{error}");
}

#[tokio::test]
async fn unhealthy_device_is_rejected_with_reason() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    let error = node.allocate(GPU, &["GPU-2", "GPU-3"]).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::FailedPrecondition);
    let message = error.message();
    assert!(
        message.contains("GPU-3") && message.contains("Xid 79"),
        "{message}"
    );
    assert!(!message.contains("GPU-2"), "{message}");
    let metrics = node.metrics().await;
    let labels = [("resource", GPU), ("reason", "unhealthy")];
    assert_eq!(
        metrics.values_with_labels("gpuc_allocation_refusals_total", &labels),
        [1.0]
    );
}

/// With NVIDIA's plugin, an unhealthy GPU never recovers.
#[tokio::test]
async fn gpu_recovers_after_the_quiet_time() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    let start = Instant::now();
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    node.wait_for_devices(GPU, 8, 8).await;
    assert!(
        start.elapsed() >= Duration::from_secs(1),
        "the quiet time is one second"
    );
    node.allocate(GPU, &["GPU-3"]).await.unwrap();
    let metrics = node.metrics().await;
    for to in ["unhealthy", "healthy"] {
        let labels = [("device", "GPU-3"), ("to", to)];
        assert_eq!(
            metrics.values_with_labels("gpuc_health_transitions_total", &labels),
            [1.0]
        );
    }
}

#[tokio::test]
async fn requested_reboot_prevents_recovery() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(node.kubelet.seen().resource(GPU).healthy().len(), 7);
    let error = node.allocate(GPU, &["GPU-3"]).await.unwrap_err();
    assert!(error.message().contains("reboot of the node"), "{error}");
    node.driver.set("gpu.3.recovery_action", "0");
    node.wait_for_devices(GPU, 8, 8).await;
}

#[tokio::test]
async fn disabled_checks_are_off() {
    let mut node = Node::new(H100);
    node.variables = vec![("DP_DISABLE_HEALTHCHECKS", "79")];
    node.start_all().await;
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 79");
    node.driver.event("4 xid 48");
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-4"), "{seen:?}");

    let mut node = Node::new(H100);
    node.variables = vec![("DP_DISABLE_HEALTHCHECKS", "all")];
    node.start_all().await;
    settle().await;
    assert_eq!(node.driver.calls("nvmlEventSetWait_v2"), 0);
}

/// Monitoring starts before discovery, so that no error is missed.
#[tokio::test]
async fn error_before_discovery_is_kept() {
    let mut node = Node::new(H100);
    node.driver.set("gpu.recovery_action", "none");
    node.driver.set("latency_us.nvmlDeviceGetName", "50000");
    node.kubelet.start().await;
    node.start();
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 79");
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-3"), "{seen:?}");
    settle().await;
    assert_eq!(node.kubelet.seen().resource(GPU).healthy().len(), 7);
}

/// Many events before discovery neither fill the memory nor hide other errors, and all are counted.
#[tokio::test]
async fn early_events_are_limited() {
    let mut node = Node::new(H100);
    node.driver.set("gpu.recovery_action", "none");
    node.driver.set("latency_us.nvmlDeviceGetName", "500000");
    node.kubelet.start().await;
    node.start();
    node.wait_until_monitoring().await;
    for _ in 0..400 {
        node.driver.event("3 xid 31");
    }
    node.driver.event("3 xid 79");
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-3"), "{seen:?}");
    let labels = [("gpu", "GPU-3"), ("xid", "31")];
    let counted = node.metrics().await;
    let counted = counted.values_with_labels("gpuc_xid_errors_total", &labels)[0];
    assert!((counted - 400.0).abs() < 0.5, "{counted}");
}

#[tokio::test]
async fn monitoring_state_is_exported() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_monitoring_up", &[]),
        [1.0]
    );
    node.config["health"] = json!({"watch": false});
    node.configure();
    node.wait_for_log("configuration changed").await;
    settle().await;
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_monitoring_up", &[]),
        [0.0]
    );
    node.config["health"] = json!({"watch": true, "quietSeconds": 1});
    node.configure();
    settle().await;
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_monitoring_up", &[]),
        [1.0]
    );
    node.driver.event("3 xid 94");
    node.wait_for_devices(GPU, 8, 7).await;
}
