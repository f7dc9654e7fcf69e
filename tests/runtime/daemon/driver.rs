//! A driver that is installed late, fails, hangs, or is unloaded while the daemon runs.

use std::time::{Duration, Instant};

use super::{GPU, H100, Node, settle};

/// On a new node, the driver is installed and loaded after the daemon starts.
#[tokio::test]
async fn late_driver_is_loaded() {
    let mut node = Node::new("driver = 570.86.15");
    let library = node.driver.library();
    let moved = library.with_extension("moved");
    std::fs::rename(&library, &moved).unwrap();
    node.kubelet.start().await;
    node.start();
    node.wait_for_response("/readyz", 503, "waiting for the driver")
        .await;
    node.wait_for_log("check that the driver is installed there")
        .await;
    node.wait_for_response("/healthz", 200, "ok").await;
    std::fs::rename(&moved, &library).unwrap();
    node.wait_for_response("/readyz", 503, "driver").await;
    node.wait_until("a second warning about the driver", |node| {
        node.log().matches("waiting for the driver").count() == 2
    })
    .await;
    assert!(node.kubelet.seen().registrations.is_empty());
    node.driver.set("gpus", "8");
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_until_ready().await;
    let log = node.log();
    assert_eq!(log.matches("waiting for the driver").count(), 2, "{log}");
}

/// NVIDIA's plugin exits if one GPU has fallen off the bus (k8s-device-plugin#2038).
#[tokio::test]
async fn gpu_lost_at_start_does_not_affect_others() {
    let mut node = Node::new(H100);
    node.driver.set("gpu.3.lost", "1");
    node.start_all().await;
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    let healthy = seen.healthy();
    for size in 1..=7 {
        assert_eq!(node.prefer(GPU, &healthy, size).await.len(), size);
    }
    node.allocate(GPU, &["GPU-2", "GPU-4"]).await.unwrap();
    assert!(node.is_alive());
    // The daemon learns the UUID when the GPU responds.
    node.driver.unset("gpu.3.lost");
    let seen = node.wait_for_devices(GPU, 8, 8).await;
    assert!(seen.healthy().contains(&"GPU-3"), "{seen:?}");
}

#[tokio::test]
async fn gpu_lost_later_does_not_affect_others() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("gpu.3.lost", "1");
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    node.kubelet.restart().await;
    node.kubelet.wait_for_registration(GPU).await;
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    let healthy = seen.healthy();
    assert!(!healthy.contains(&"GPU-3"), "{healthy:?}");
    assert_eq!(node.prefer(GPU, &healthy, 4).await.len(), 4);
    node.allocate(GPU, &healthy).await.unwrap();
    node.driver.unset("gpu.3.lost");
    node.wait_for_devices(GPU, 8, 8).await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}

/// NVIDIA's plugin marks all GPUs as unhealthy permanently after one failed wait (k8s-device-plugin#669).
#[tokio::test]
async fn failed_event_wait_is_restarted() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.event("error 999");
    node.wait_for_log("waiting for events").await;
    settle().await;
    assert_eq!(node.kubelet.seen().resource(GPU).healthy().len(), 8);
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_monitoring_failures_total", &[]),
        [1.0]
    );
    assert_eq!(metrics.values_with_labels("gpuc_monitoring_up", &[]), [1.0]);
    node.driver.event("5 xid 94");
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-5"), "{seen:?}");
}

#[tokio::test]
async fn nvml_is_initialised_once() {
    let mut node = Node::running(H100).await;
    for _ in 0..3 {
        node.kubelet.restart().await;
        node.kubelet.wait_for_registration(GPU).await;
    }
    node.signal("HUP");
    node.config["pool"] = "other".into();
    node.configure();
    node.wait_for_log("configuration changed").await;
    node.metrics().await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
    assert_eq!(node.driver.calls("nvmlShutdown"), 0);
}

/// NVIDIA's plugin makes 3,225 calls for each GetPreferredAllocation of eight GPUs.
#[tokio::test]
async fn allocation_does_not_call_the_driver() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    settle().await;
    // Any call of the driver takes a minute.
    node.driver.set("latency_us", "60000000");
    let calls = node.calls();
    let start = Instant::now();
    let all: Vec<_> = (0..8).map(|gpu| format!("GPU-{gpu}")).collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    for size in 1..=8 {
        assert_eq!(node.prefer(GPU, &all, size).await.len(), size);
        node.allocate(GPU, &all[..size]).await.unwrap();
    }
    node.kubelet.restart().await;
    node.kubelet.wait_for_registration(GPU).await;
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(node.calls(), calls);
}

/// NVIDIA's plugin needs 36.5 s to choose three of sixteen GPUs.
#[tokio::test]
async fn preferred_allocation_of_sixteen_gpus_is_fast() {
    let node = Node::running("gpus = 16\ngpu.model = h100-sxm5-80gb").await;
    let seen = node.wait_for_devices(GPU, 16, 16).await;
    let all = seen.healthy();
    let start = Instant::now();
    for size in 1..=16 {
        let mut chosen = node.prefer(GPU, &all, size).await;
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), size);
    }
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

/// An open handle would prevent the kernel from unloading the driver for an update.
#[tokio::test]
async fn unloaded_driver_is_closed_and_reopened() {
    let mut node = Node::running(H100).await;
    // Every call fails because the driver is not loaded.
    for call in [
        "nvmlSystemGetDriverVersion",
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetHandleByIndex_v2",
    ] {
        node.driver.set(&format!("error.{call}"), "9");
    }
    node.driver.unset("gpus");
    node.signal("HUP");
    node.wait_for_devices(GPU, 8, 0).await;
    node.wait_for_response("/readyz", 503, "waiting for the driver")
        .await;
    let error = node.allocate(GPU, &["GPU-1"]).await.unwrap_err();
    assert!(error.message().contains("GPU-1"), "{error}");
    let released = |node: &Node| node.driver.calls("nvmlShutdown") == 1;
    node.wait_until("a call of nvmlShutdown", released).await;
    for call in [
        "nvmlSystemGetDriverVersion",
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetHandleByIndex_v2",
    ] {
        node.driver.unset(&format!("error.{call}"));
    }
    node.driver.set("driver", "580.10.01");
    node.driver.set("gpus", "8");
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_until_ready().await;
    node.allocate(GPU, &["GPU-1"]).await.unwrap();
    assert!(node.is_alive());
}

/// The library opens but every call fails. The daemon advertises no GPUs meanwhile and retries with backoff.
#[tokio::test]
async fn unresponsive_driver_is_not_ready() {
    let mut node = Node::running(H100).await;
    node.driver.set("error.nvmlSystemGetDriverVersion", "999");
    node.driver.set("error.nvmlDeviceGetCount_v2", "999");
    node.signal("HUP");
    let lists = node.wait_for_devices(GPU, 8, 0).await.lists;
    let opened = node.driver.calls("nvmlInit_v2");
    let start = Instant::now();
    // The daemon retries after 0.1, 0.3, 0.7, 1.5 and 3.1 s.
    while start.elapsed() < Duration::from_secs(6) {
        let (status, text) = node.get("/readyz").await.expect("the server responds");
        assert_eq!(status, 503, "{text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(node.kubelet.seen().resource(GPU).lists, lists);
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_monitoring_up", &[]),
        [0.0]
    );
    let opened = node.driver.calls("nvmlInit_v2") - opened;
    assert!(opened <= 6, "opened {opened} times in six seconds");
    node.driver.unset("error.nvmlSystemGetDriverVersion");
    node.driver.unset("error.nvmlDeviceGetCount_v2");
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_until_ready().await;
}

#[tokio::test]
async fn single_driver_failure_is_ignored() {
    let mut node = Node::running(H100).await;
    let lists = node.wait_for_devices(GPU, 8, 8).await.lists;
    node.driver.set("error.nvmlDeviceGetCount_v2", "999");
    node.signal("HUP");
    node.wait_for_log("cannot read the GPUs").await;
    node.driver.unset("error.nvmlDeviceGetCount_v2");
    settle().await;
    node.wait_until_ready().await;
    assert_eq!(node.kubelet.seen().resource(GPU).lists, lists);
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}

/// All GPUs vanish from the bus and return. Alerts need the series of the missing devices.
#[tokio::test]
async fn missing_gpus_are_reported_and_found_again() {
    let mut node = Node::running(H100).await;
    node.driver.set("gpus", "0");
    node.signal("HUP");
    let text = "this node has no resources to advertise: found 0 GPUs instead of 8";
    node.wait_for_response("/readyz", 503, text).await;
    let metrics = node.metrics().await;
    for health in ["healthy", "unhealthy"] {
        let labels = [("resource", GPU), ("health", health)];
        assert_eq!(metrics.values_with_labels("gpuc_devices", &labels), [0.0]);
    }
    let expected = [("resource", GPU)];
    assert_eq!(
        metrics.values_with_labels("gpuc_expected_devices", &expected),
        [8.0]
    );
    node.driver.set("gpus", "8");
    // Without a signal or an event.
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_until_ready().await;
}

/// A host such as a node of kind has neither the device nodes nor the driver.
#[tokio::test]
async fn simulated_gpus_are_an_environment_variable() {
    let cdi = serde_json::json!({"cdi": {"specDir": "/nowhere"}});
    for devices in ["environmentVariable".into(), cdi] {
        let mut node = Node::new("gpus = 0");
        node.arguments = vec!["--fake=h100x8"];
        node.config["devices"] = devices;
        node.config["passDeviceNodes"] = true.into();
        node.config["extras"] = serde_json::json!(["gdrcopy", "imex"]);
        node.configure();
        node.start_all().await;
        let seen = node.wait_for_devices(GPU, 8, 8).await;
        let answer = node.allocate(GPU, &[&seen.devices[2].id]).await.unwrap();
        assert_eq!(answer.envs.len(), 1);
        assert_eq!(answer.envs["NVIDIA_VISIBLE_DEVICES"], seen.devices[2].id);
        assert!(answer.devices.is_empty() && answer.mounts.is_empty());
        assert!(answer.cdi_devices.is_empty() && answer.annotations.is_empty());
        assert_eq!(node.driver.all_calls(), 0);
    }
}

/// A failure that lasts has one line in the log, not one per attempt.
#[tokio::test]
async fn lasting_failure_is_logged_once() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    node.driver.set("error.nvmlDeviceGetCount_v2", "999");
    node.signal("HUP");
    node.wait_for_devices(GPU, 8, 0).await;
    let reopened = |node: &Node| node.driver.calls("nvmlInit_v2") >= 4;
    node.wait_until("four attempts to open the driver", reopened)
        .await;
    let log = node.log();
    let count = |text: &str| log.matches(text).count();
    assert_eq!(count("cannot read the GPUs"), 1, "{log}");
    assert_eq!(
        count("all devices are unhealthy: the driver cannot be used"),
        1,
        "{log}"
    );
    assert_eq!(count("driver loaded"), 1, "{log}");
    assert_eq!(count("driver events are not monitored"), 0, "{log}");
    node.driver.unset("error.nvmlDeviceGetCount_v2");
    node.wait_for_devices(GPU, 8, 8).await;
}

/// Faults that only the daemon knows survive a reload of a driver that does not report recovery actions.
#[tokio::test]
async fn driver_reload_keeps_faults() {
    let mut node = Node::new(H100);
    node.driver.set("gpu.recovery_action", "none");
    node.start_all().await;
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 79");
    node.wait_for_devices(GPU, 8, 7).await;
    for call in ["nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2"] {
        node.driver.set(&format!("error.{call}"), "9");
    }
    node.signal("HUP");
    node.wait_for_devices(GPU, 8, 0).await;
    node.kubelet.restart().await;
    node.kubelet.wait_for_registration(GPU).await;
    node.wait_for_devices(GPU, 8, 0).await;
    for call in ["nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2"] {
        node.driver.unset(&format!("error.{call}"));
    }
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-3"), "{seen:?}");
    settle().await;
    assert_eq!(node.kubelet.seen().resource(GPU).healthy().len(), 7);
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_monitoring_up", &[]),
        [1.0]
    );
}

/// A GPU that the driver counts but cannot measure, monitor or describe does not affect the others.
#[tokio::test]
async fn failed_call_of_one_gpu_does_not_affect_others() {
    for call in [
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetMinorNumber",
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetSupportedEventTypes",
        "nvmlDeviceRegisterEvents",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetTopologyCommonAncestor",
        "nvmlDeviceGetNvLinkState",
    ] {
        let mut node = Node::new(H100);
        node.driver.set(&format!("gpu.3.error.{call}"), "999");
        node.start_all().await;
        node.wait_until_monitoring().await;
        settle().await;
        let seen = node.kubelet.seen().resource(GPU);
        let healthy = seen.healthy();
        assert_eq!(seen.devices.len(), 8, "{call}");
        assert!(healthy.len() >= 7, "{call}: {healthy:?}");
        assert_eq!(node.prefer(GPU, &healthy, 4).await.len(), 4, "{call}");
        node.allocate(GPU, &["GPU-2"]).await.unwrap();
        let metrics = node.metrics().await;
        assert!(
            metrics.all_series("DCGM_FI_DEV_GPU_UTIL").len() >= 7,
            "{call}"
        );
        node.driver.set("gpu.5.recovery_action", "1");
        node.driver.event("5 xid 48");
        node.wait_for_devices(GPU, 8, healthy.len() - 1).await;
        assert!(node.is_alive(), "{call}");
    }
}
