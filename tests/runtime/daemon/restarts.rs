//! The health of GPUs across restarts of the daemon. The driver reports an Xid once, so only the daemon knows it.

use std::fs;

use serde_json::{Value, json};

use super::{GPU, H100, Node};

/// A node whose GPU 3 had an Xid, and whose daemon was killed then.
async fn killed_after_xid(health: Value) -> Node {
    let mut node = Node::new(H100);
    node.config["health"] = health;
    node.configure();
    node.start_all().await;
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 94");
    node.wait_for_devices(GPU, 8, 7).await;
    node.signal("KILL");
    node.wait_for_exit().await;
    // The kubelet marks all devices as unhealthy.
    node.wait_for_devices(GPU, 8, 0).await;
    node
}

fn stored(node: &Node) -> Value {
    let text = fs::read_to_string(node.path("state/health.json"));
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn store(node: &Node, text: &str) {
    fs::write(node.path("state/health.json"), text).unwrap();
}

/// An Xid is known after the daemon was killed, and a second time after the next kill.
#[tokio::test]
async fn killed_daemon_keeps_errors() {
    let mut node = killed_after_xid(json!({"watch": true})).await;
    for _ in 0..2 {
        node.start();
        let resource = node.wait_for_devices(GPU, 8, 7).await;
        assert!(!resource.healthy().contains(&"GPU-3"), "{resource:?}");
        node.wait_for_log("GPU-3 is still unhealthy since before the restart: Xid 94")
            .await;
        let error = node.allocate(GPU, &["GPU-3"]).await.unwrap_err();
        assert!(error.message().contains("Xid 94"), "{error}");
        node.signal("KILL");
        node.wait_for_exit().await;
        node.wait_for_devices(GPU, 8, 0).await;
    }
}

/// The quiet time includes the time before the restart, and the device recovers after it.
#[tokio::test]
async fn restarted_daemon_ends_the_quiet_time() {
    let mut node = killed_after_xid(json!({"watch": true, "quietSeconds": 2})).await;
    let records = stored(&node);
    let at = |node: &Value| node["records"]["GPU-3"]["fault"]["lastErrorAt"].as_u64();
    assert!(at(&records) > Some(0), "{records}");
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_for_log("GPU-3 recovered").await;
    node.signal("TERM");
    node.wait_for_exit().await;
    assert_eq!(at(&stored(&node)), None);
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
}

/// A second error soon after a restart doubles the quiet time: recurrences are counted across restarts.
#[tokio::test]
async fn restarted_daemon_counts_recurrences() {
    let mut node = killed_after_xid(json!({"watch": true, "quietSeconds": 1})).await;
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
    let waits = node.driver.calls("nvmlEventSetWait_v2");
    node.wait_until("a wait for events", |node| {
        node.driver.calls("nvmlEventSetWait_v2") > waits
    })
    .await;
    node.driver.event("3 xid 94");
    node.wait_for_devices(GPU, 8, 7).await;
    assert_eq!(stored(&node)["records"]["GPU-3"]["recurrences"], 1);
}

/// The volume of a new pod is empty. An operator who has reset a GPU deletes the pod.
#[tokio::test]
async fn new_pod_trusts_the_driver() {
    let mut node = killed_after_xid(json!({"watch": true})).await;
    fs::remove_file(node.path("state/health.json")).unwrap();
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
}

/// Records that cannot be used are discarded, and the daemon starts.
#[tokio::test]
async fn unusable_records_are_discarded() {
    let mut node = killed_after_xid(json!({"watch": true})).await;
    let valid = stored(&node);
    let mut newer = valid.clone();
    newer["version"] = json!(2);
    newer["records"] = json!(["of another form"]);
    let mut rebooted = valid.clone();
    rebooted["bootId"] = json!("another boot");
    let mut changed = valid.clone();
    changed["records"]["GPU-3"]["fault"]["lastErrorAt"] = json!("now");
    let cut = &valid.to_string()[..valid.to_string().len() / 2];
    let cases = [
        (newer.to_string(), "they have version 2, not 1"),
        (rebooted.to_string(), "the machine has rebooted since"),
        (changed.to_string(), "are discarded: invalid type: string"),
        (cut.to_owned(), "are discarded: EOF"),
        (String::new(), "are discarded: EOF"),
        ("x".repeat(5 << 20), "are discarded: expected value"),
    ];
    for (text, message) in cases {
        store(&node, &text);
        fs::write(node.path("log"), "").unwrap();
        node.start();
        node.wait_for_devices(GPU, 8, 8).await;
        node.wait_for_log(message).await;
        node.signal("KILL");
        node.wait_for_exit().await;
        node.wait_for_devices(GPU, 8, 0).await;
    }
}

/// Records of the future do not make a device unhealthy without end.
#[tokio::test]
async fn times_in_the_future_are_limited() {
    let mut node = killed_after_xid(json!({"watch": true, "quietSeconds": 1})).await;
    let mut records = stored(&node);
    for time in ["lastErrorAt", "retryAt"] {
        records["records"]["GPU-3"]["fault"][time] = json!(u64::MAX);
    }
    store(&node, &records.to_string());
    node.start();
    node.wait_for_devices(GPU, 8, 8).await;
}

/// A missing folder has no effect on the health; the log names it once.
#[tokio::test]
async fn missing_folder_is_logged_once() {
    let mut node = Node::new(H100);
    node.config["health"] = json!({"watch": true});
    node.configure();
    fs::remove_dir(node.path("state")).unwrap();
    node.start_all().await;
    node.wait_until_monitoring().await;
    let error = "cannot store the health records in";
    for (gpu, healthy) in [(3, 7), (4, 6)] {
        node.driver.event(&format!("{gpu} xid 94"));
        node.wait_for_devices(GPU, 8, healthy).await;
        node.wait_for_log(error).await;
    }
    assert_eq!(node.log().matches(error).count(), 1, "{}", node.log());
    fs::create_dir(node.path("state")).unwrap();
    node.wait_until("the records", |node| {
        node.path("state/health.json").exists()
    })
    .await;
    assert_eq!(stored(&node)["records"].as_object().unwrap().len(), 2);
}
