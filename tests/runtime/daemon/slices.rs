//! Partitioned GPUs: errors affect the MIG devices they occurred in, and changed MIG devices need no restart.

use serde_json::{Value, json};

use super::{GPU, H100, Node};

const SMALL: &str = "nvidia.com/mig-1g.10gb";
const LARGE: &str = "nvidia.com/mig-3g.40gb";

/// Seven MIG devices, of GPU instances 1 to 7.
const SEVEN: &str =
    "1:1g.10gb@0 2:1g.10gb@1 3:1g.10gb@2 4:1g.10gb@3 5:1g.10gb@4 6:1g.10gb@5 7:1g.10gb@6";

fn sharing(strategy: &str) -> Value {
    let slice = |start: u32| json!({"profile": "1g.10gb", "start": start, "size": 1});
    let slices: Vec<_> = (0..7).map(slice).collect();
    let gpu = |index: u32| json!({"index": index, "slices": slices});
    let gpus: Vec<_> = (0..8).map(gpu).collect();
    json!({"mig": {"strategy": strategy, "apply": false, "gpus": gpus}})
}

/// A node with eight GPUs, each with seven MIG devices.
async fn cut(strategy: &str) -> Node {
    let lines = format!("{H100}\ngpu.mig = on\ngpu.layout = {SEVEN}");
    let mut node = Node::new(&lines);
    node.config["sharing"] = sharing(strategy);
    node.config["resources"] = json!({SMALL: 56});
    node.config["health"] = json!({"watch": true, "quietSeconds": 3600});
    node.configure();
    node.meet().await;
    node.listens().await;
    node
}

/// NVIDIA's plugin drops three of three such errors.
#[tokio::test]
async fn an_error_in_a_slice_marks_that_slice() {
    let mut node = cut("mixed").await;
    node.offers(SMALL, 56, 56).await;
    node.driver.event("2 xid 95 5 0");
    let seen = node.offers(SMALL, 56, 55).await;
    let ill: Vec<_> = seen
        .devices
        .iter()
        .filter(|it| it.health != "Healthy")
        .collect();
    // The fifth MIG device of the third GPU: the list is sorted by GPU and placement.
    assert_eq!(ill[0].id, seen.devices[2 * 7 + 4].id);
    let refused = node.allocate(SMALL, &[&ill[0].id]).await.unwrap_err();
    assert!(refused.message().contains(&ill[0].id), "{refused}");
    node.allocate(SMALL, &[&seen.devices[2 * 7 + 3].id])
        .await
        .unwrap();
}

/// NVIDIA's plugin marks one of the seven.
#[tokio::test]
async fn an_error_of_a_whole_gpu_marks_all_of_its_slices() {
    for (strategy, resource) in [("mixed", SMALL), ("single", GPU)] {
        let mut node = cut(strategy).await;
        node.offers(resource, 56, 56).await;
        node.driver.set("gpu.2.recovery_action", "2");
        node.driver.event("2 xid 79");
        let seen = node.offers(resource, 56, 49).await;
        let of_it = &seen.devices[14..21];
        assert!(of_it.iter().all(|it| it.health == "Unhealthy"), "{seen:?}");
    }
}

/// NVIDIA's plugin wants a restart, and leaves what was on the node (its #992, #389, #240).
#[tokio::test]
async fn a_gpu_that_is_cut_anew_is_met_without_a_restart() {
    let mut node = cut("mixed").await;
    node.offers(SMALL, 56, 56).await;
    node.driver.set("gpu.7.layout", "3g.40gb@0 3g.40gb@4");
    node.driver.event("7 mig");
    node.kubelet.met(LARGE).await;
    node.offers(LARGE, 2, 2).await;
    node.offers(SMALL, 49, 49).await;
    node.driver.set("gpu.7.layout", SEVEN);
    node.driver.event("7 mig");
    node.offers(SMALL, 56, 56).await;
    node.offers(LARGE, 0, 0).await;
    assert_eq!(node.driver.calls("nvmlInit_v2"), 1);
}
