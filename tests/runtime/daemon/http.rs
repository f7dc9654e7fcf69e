//! The daemon's responses to Prometheus and to probes.

use super::{GPU, H100, Node};
use crate::simulated_kubelet::pod_resources;

#[tokio::test]
async fn gpu_metrics_have_dcgm_names_and_pods() {
    let mut node = Node::new(H100);
    let pods = vec![pod_resources::pod(
        "trainer",
        "main",
        GPU,
        &["GPU-1", "GPU-2"],
    )];
    let kubelet = pod_resources::serve(&node.path("pod-resources.sock"), pods);
    node.driver.set("gpu.1.temperature", "61");
    node.driver.set("gpu.1.utilization", "93");
    node.start_all().await;
    let metrics = node.metrics().await;
    let labels = [
        ("UUID", "GPU-1"),
        ("gpu", "1"),
        ("pod", "trainer"),
        ("container", "main"),
    ];
    assert_eq!(
        metrics.values_with_labels("DCGM_FI_DEV_GPU_TEMP", &labels),
        [61.0]
    );
    assert_eq!(
        metrics.values_with_labels("DCGM_FI_DEV_GPU_UTIL", &labels),
        [93.0]
    );
    for name in [
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_SM_CLOCK",
    ] {
        assert_eq!(metrics.all_series(name).len(), 8, "{name}");
    }
    let temperatures = metrics.all_series("DCGM_FI_DEV_GPU_TEMP");
    let allocated = temperatures
        .iter()
        .filter(|(labels, _)| labels.get("pod").is_some_and(|it| !it.is_empty()));
    assert_eq!(allocated.count(), 2);
    kubelet.abort();
}

#[tokio::test]
async fn counters_increase() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.allocate(GPU, &["GPU-0"]).await.unwrap();
    node.allocate(GPU, &["GPU-9"]).await.unwrap_err();
    node.prefer(GPU, &["GPU-0", "GPU-1"], 1).await;
    node.driver.set("gpu.3.recovery_action", "2");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    let metrics = node.metrics().await;
    for (name, labels, expected) in [
        ("gpuc_allocations_total", &[("resource", GPU)][..], 1.0),
        (
            "gpuc_allocation_refusals_total",
            &[("reason", "unknown")],
            1.0,
        ),
        ("gpuc_allocate_duration_seconds_count", &[], 2.0),
        ("gpuc_preferred_allocation_duration_seconds_count", &[], 1.0),
        (
            "gpuc_xid_errors_total",
            &[("gpu", "GPU-3"), ("xid", "79")],
            1.0,
        ),
        (
            "gpuc_devices",
            &[("resource", GPU), ("health", "healthy")],
            7.0,
        ),
        (
            "gpuc_devices",
            &[("resource", GPU), ("health", "unhealthy")],
            1.0,
        ),
        ("gpuc_registrations_total", &[("resource", GPU)], 1.0),
        ("gpuc_monitoring_up", &[], 1.0),
        ("DCGM_FI_DEV_XID_ERRORS", &[("UUID", "GPU-3")], 79.0),
    ] {
        assert_eq!(
            metrics.values_with_labels(name, labels),
            [expected],
            "{name} {labels:?}"
        );
    }
}

/// The daemon serves GPUs while another process uses the port.
#[tokio::test]
async fn used_port_does_not_stop_the_plugin() {
    let mut node = Node::new(H100);
    let blocker = std::net::TcpListener::bind(node.address).unwrap();
    node.kubelet.start().await;
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
    node.allocate(GPU, &["GPU-0"]).await.unwrap();
    node.wait_for_log("metrics and probes are not served: cannot listen on")
        .await;
    drop(blocker);
    node.wait_until_ready().await;
}

#[tokio::test]
async fn node_without_gpus_is_alive_but_not_ready() {
    let mut node = Node::new("gpus = 0");
    node.kubelet.start().await;
    node.start();
    node.wait_for_response("/readyz", 503, "no resources to advertise")
        .await;
    node.wait_for_response("/healthz", 200, "ok").await;
    assert_eq!(node.kubelet.seen().registrations.len(), 0);
}
