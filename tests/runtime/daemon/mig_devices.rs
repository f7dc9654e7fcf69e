//! Errors of MIG devices, and changes of the MIG devices while the daemon runs.

use serde_json::{Value, json};

use super::{GPU, H100, Node};

const SMALL: &str = "nvidia.com/mig-1g.10gb";
const LARGE: &str = "nvidia.com/mig-3g.40gb";

/// Seven MIG devices, in GPU instances 1 to 7.
const SEVEN: &str =
    "1:1g.10gb@0 2:1g.10gb@1 3:1g.10gb@2 4:1g.10gb@3 5:1g.10gb@4 6:1g.10gb@5 7:1g.10gb@6";

fn sharing(strategy: &str) -> Value {
    let slice = |start: u32| json!({"profile": "1g.10gb", "start": start, "size": 1});
    let slices: Vec<_> = (0..7).map(slice).collect();
    let gpu = |index: u32| json!({"index": index, "slices": slices});
    let gpus: Vec<_> = (0..8).map(gpu).collect();
    json!({"mig": {"strategy": strategy, "apply": false, "gpus": gpus}})
}

/// Starts a node with eight GPUs, each with seven MIG devices.
async fn node_with_mig_devices(strategy: &str) -> Node {
    let lines = format!("{H100}\ngpu.mig = on\ngpu.layout = {SEVEN}");
    let mut node = Node::new(&lines);
    node.config["sharing"] = sharing(strategy);
    node.config["resources"] = json!({SMALL: 56});
    node.config["health"] = json!({"watch": true, "quietSeconds": 3600});
    node.configure();
    node.start_all().await;
    node.wait_until_monitoring().await;
    node
}

/// NVIDIA's plugin ignores such errors (three of three).
#[tokio::test]
async fn error_in_a_mig_device_affects_only_it() {
    let mut node = node_with_mig_devices("mixed").await;
    node.wait_for_devices(SMALL, 56, 56).await;
    node.driver.event("2 xid 95 5 0");
    let seen = node.wait_for_devices(SMALL, 56, 55).await;
    let unhealthy: Vec<_> = seen
        .devices
        .iter()
        .filter(|it| it.health != "Healthy")
        .collect();
    // The fifth MIG device of the third GPU: the list is sorted by GPU and placement.
    assert_eq!(unhealthy[0].id, seen.devices[2 * 7 + 4].id);
    let error = node.allocate(SMALL, &[&unhealthy[0].id]).await.unwrap_err();
    assert!(error.message().contains(&unhealthy[0].id), "{error}");
    node.allocate(SMALL, &[&seen.devices[2 * 7 + 3].id])
        .await
        .unwrap();
}

/// After a pool stopped using MIG: a container would get a MIG device instead of the GPU, or nothing.
#[tokio::test]
async fn full_gpu_in_mig_mode_is_unhealthy() {
    let mut node = Node::new(&format!("{H100}\ngpu.5.mig = on"));
    node.start_all().await;
    let seen = node.wait_for_devices(GPU, 8, 7).await;
    assert!(!seen.healthy().contains(&"GPU-5"), "{seen:?}");
    let error = node.allocate(GPU, &["GPU-5"]).await.unwrap_err();
    assert!(
        error.message().contains("run `nvidia-smi -i 5 -mig 0`"),
        "{error}"
    );
    node.wait_for_log("GPU 5 is in MIG mode, but the pool does not use MIG")
        .await;
    node.driver.set("gpu.5.mig", "off");
    node.driver.event("5 mig");
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_for_log("GPU-5 recovered").await;
    let metrics = node.metrics().await;
    for to in ["unhealthy", "healthy"] {
        let labels = [("device", "GPU-5"), ("to", to)];
        let transitions = metrics.values_with_labels("gpuc_health_transitions_total", &labels);
        assert_eq!(transitions, [1.0], "{to}");
    }
}

/// NVIDIA's plugin marks one of the seven MIG devices.
#[tokio::test]
async fn error_of_a_gpu_affects_its_mig_devices() {
    for (strategy, resource) in [("mixed", SMALL), ("single", GPU)] {
        let mut node = node_with_mig_devices(strategy).await;
        node.wait_for_devices(resource, 56, 56).await;
        node.driver.set("gpu.2.recovery_action", "2");
        node.driver.event("2 xid 79");
        let seen = node.wait_for_devices(resource, 56, 49).await;
        let of_gpu = &seen.devices[14..21];
        assert!(of_gpu.iter().all(|it| it.health == "Unhealthy"), "{seen:?}");
    }
}

/// NVIDIA's plugin requires a restart and keeps outdated devices (k8s-device-plugin#992, #389, #240).
#[tokio::test]
async fn repartitioned_gpu_is_rediscovered() {
    let mut node = node_with_mig_devices("mixed").await;
    node.wait_for_devices(SMALL, 56, 56).await;
    node.driver.set("gpu.7.layout", "3g.40gb@0 3g.40gb@4");
    node.driver.event("7 mig");
    node.kubelet.wait_for_registration(LARGE).await;
    node.wait_for_devices(LARGE, 2, 2).await;
    node.wait_for_devices(SMALL, 49, 49).await;
    node.driver.set("gpu.7.layout", SEVEN);
    node.driver.event("7 mig");
    node.wait_for_devices(SMALL, 56, 56).await;
    node.wait_for_devices(LARGE, 0, 0).await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}
