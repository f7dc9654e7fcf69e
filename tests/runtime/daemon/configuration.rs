//! Changes of the configuration while the daemon runs.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{GPU, H100, Node, settle};

fn time_slicing(replicas: u32) -> Value {
    json!({"timeSlicing": {"replicas": replicas, "rename": false}})
}

#[tokio::test]
async fn invalid_configuration_is_rejected() {
    let mut node = Node::new(H100);
    node.config["sharing"] = time_slicing(4);
    node.configure();
    node.start_all().await;
    node.wait_for_devices(GPU, 32, 32).await;
    for invalid in [
        "{",
        "",
        r#"{"kind": "Other"}"#,
        &node.config.to_string().replace("pool", "poool"),
    ] {
        node.configure_with(invalid);
        settle().await;
    }
    node.wait_for_log("keeping the previous one").await;
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_config_last_reload_successful", &[]),
        [0.0]
    );
    assert_eq!(
        metrics.values_with_labels("gpuc_config_reload_failures_total", &[]),
        [4.0]
    );
    node.wait_until_ready().await;
    node.wait_for_devices(GPU, 32, 32).await;
    node.allocate(GPU, &["GPU-3::3"]).await.unwrap();

    node.config["sharing"] = time_slicing(8);
    node.configure();
    node.wait_for_devices(GPU, 64, 64).await;
    node.allocate(GPU, &["GPU-3::7"]).await.unwrap();
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_config_last_reload_successful", &[]),
        [1.0]
    );
    assert_eq!(
        metrics.values_with_labels("gpuc_config_generation", &[]),
        [2.0]
    );
    let seen = node.kubelet.seen();
    assert_eq!(
        seen.registrations.len(),
        1,
        "a new configuration requires no new registration"
    );
}

/// A ConfigMap of a newer release must not stop an older daemon.
#[tokio::test]
async fn unknown_keys_are_reported_and_the_others_applied() {
    let mut node = Node::new(H100);
    node.config["newKey"] = json!({"a": [1, {"b": null}]});
    node.config["expected"]["vendor"] = json!("nvidia");
    node.configure();
    node.start_all().await;
    node.wait_for_devices(GPU, 8, 8).await;
    node.wait_for_log("does not know: `expected.vendor`, `newKey`")
        .await;
    let unknown_keys = async |node: &Node| {
        let metrics = node.metrics().await;
        metrics.values_with_labels("gpuc_config_unknown_keys", &[])
    };
    assert_eq!(unknown_keys(&node).await, [2.0]);

    node.config["sharing"] = json!({"timeSlicing": {"replicas": 4, "rename": false, "fair": true}});
    node.config.as_object_mut().unwrap().remove("newKey");
    node.configure();
    node.wait_for_devices(GPU, 32, 32).await;
    node.wait_for_log("`sharing.timeSlicing.fair`").await;
    assert_eq!(unknown_keys(&node).await, [2.0]);

    node.config["sharing"] = time_slicing(2);
    node.config["expected"]
        .as_object_mut()
        .unwrap()
        .remove("vendor");
    node.configure();
    node.wait_for_devices(GPU, 16, 16).await;
    assert_eq!(unknown_keys(&node).await, [0.0]);
}

/// The daemon starts as soon as the file is corrected, without the kubelet's delay for containers that exit.
#[tokio::test]
async fn invalid_configuration_at_start_is_awaited() {
    for (invalid, reason) in [
        ("{", "EOF while parsing"),
        (r#"{"kind": "NodeConfig"}"#, "missing field"),
        (
            r#"{"apiVersion": "node.gpuc.dev/v9", "kind": "NodeConfig"}"#,
            "node.gpuc.dev/v9",
        ),
        (
            r#"{"metrics": {"port": 9401, "gpus": true}, "sharing": {"telepathy": {}}}"#,
            "unknown variant `telepathy`",
        ),
    ] {
        let mut node = Node::new(H100);
        // The default port, unless the invalid file has one.
        let port = if invalid.contains("9401") { 9401 } else { 9400 };
        node.config["metrics"]["port"] = json!(port);
        node.address.set_port(port);
        node.configure_with(invalid);
        node.kubelet.start().await;
        node.start();
        node.wait_for_response("/readyz", 503, "waiting for a valid configuration")
            .await;
        node.wait_for_response("/readyz", 503, reason).await;
        node.wait_for_response("/healthz", 200, "ok").await;
        let metrics = node.metrics().await;
        assert_eq!(
            metrics.values_with_labels("gpuc_config_last_reload_successful", &[]),
            [0.0]
        );
        node.wait_for_log("node.json").await;
        node.config["sharing"] = json!({"clairvoyance": {}});
        node.configure();
        node.wait_for_response("/readyz", 503, "unknown variant `clairvoyance`")
            .await;
        assert_eq!(node.kubelet.seen().registrations.len(), 0);
        node.config["sharing"] = time_slicing(4);
        node.configure();
        node.wait_until_ready().await;
        node.wait_for_devices(GPU, 32, 32).await;
    }
}

#[tokio::test]
async fn daemon_without_valid_configuration_can_be_stopped() {
    let mut node = Node::new(H100);
    node.configure_with(r#"{"sharing": {"telepathy": {}}}"#);
    node.start();
    node.wait_for_log("waiting for a valid configuration").await;
    node.signal("TERM");
    assert!(node.wait_for_exit().await.success());
}

/// Users can start the daemon with a file in the working directory.
#[tokio::test]
async fn bare_file_name_is_watched() {
    let mut node = Node::new(H100);
    node.config_file = "node.json".into();
    node.start_all().await;
    node.config["sharing"] = time_slicing(4);
    node.configure();
    node.wait_for_devices(GPU, 32, 32).await;
}

/// The hash depends only on the values of the configuration.
#[tokio::test]
async fn hash_is_independent_of_formatting() {
    async fn hash(node: &Node) -> String {
        let (_, page) = node.get("/metrics").await.unwrap();
        let mut lines = page.lines();
        let line = lines.find(|line| line.starts_with("gpuc_config_hash{"));
        line.expect("the page has a hash").to_owned()
    }
    let node = Node::running(H100).await;
    let first = hash(&node).await;
    node.configure_with(&serde_json::to_string_pretty(&node.config).unwrap());
    node.wait_for_log("the configuration is the active one again")
        .await;
    settle().await;
    assert_eq!(hash(&node).await, first);
    let mut other = node.config.clone();
    other["pool"] = json!("other");
    node.configure_with(&other.to_string());
    node.wait_for_log("pool=\"other\"").await;
    settle().await;
    assert_ne!(hash(&node).await, first);
}

#[tokio::test]
async fn differences_are_logged() {
    let mut node = Node::running(H100).await;
    node.config["expected"]["count"] = json!(9);
    node.configure();
    node.wait_for_log("found 8 GPUs instead of 9").await;
}

/// The control daemon of MPS is another container of the pod, which the new configuration starts.
#[tokio::test]
async fn start_settings_take_effect_with_the_next_pod() {
    let mut node = Node::new(H100);
    let root = node.path("mps");
    let mps =
        json!({"mps": {"replicas": 4, "rename": false, "refuseMoreThanOne": true, "root": root}});
    let mig = json!({"mig": {"strategy": "mixed", "apply": true, "gpus": []}});
    node.start_all().await;
    let exclusive = node.config.clone();
    let pending = async |node: &Node| {
        let metrics = node.metrics().await;
        metrics.values_with_labels("gpuc_config_restart_pending", &[])
    };
    assert_eq!(pending(&node).await, [0.0]);
    let cdi = json!({"cdi": {"specDir": "/nowhere"}});
    for (key, value) in [("sharing", mps), ("sharing", mig), ("devices", cdi)] {
        node.config = exclusive.clone();
        node.config[key] = value;
        node.config["pool"] = json!("other");
        node.config["newKey"] = json!(1);
        node.configure();
        node.wait_for_log(&format!(
            "`{key}` changed: the new configuration takes effect"
        ))
        .await;
        settle().await;
        node.wait_for_devices(GPU, 8, 8).await;
        node.allocate(GPU, &["GPU-3"]).await.unwrap();
        node.wait_until_ready().await;
        assert_eq!(pending(&node).await, [1.0]);
        assert!(!node.log().contains("does not know"), "{}", node.log());
    }
    let mut other_driver = exclusive.clone();
    other_driver["driver"]["containerRoot"] = json!("/nowhere");
    node.configure_with(&other_driver.to_string());
    settle().await;
    node.signal("HUP");
    settle().await;
    node.wait_for_devices(GPU, 8, 8).await;
    // Other settings are applied at once, and `sharing` as well if no other container reads it.
    node.config = exclusive;
    node.config["sharing"] = time_slicing(2);
    node.configure();
    node.wait_for_devices(GPU, 16, 16).await;
    assert_eq!(pending(&node).await, [0.0]);
}

/// The list of the control daemon says which GPUs it serves.
#[tokio::test]
async fn gpus_without_mps_control_daemon_are_unhealthy() {
    let mut node = Node::new(H100);
    let folder = node.path("mps/nvidia.com/gpu");
    node.config["sharing"] =
        json!({"mps": {"replicas": 2, "rename": false, "root": node.path("mps")}});
    node.configure();
    node.start_all().await;
    node.wait_for_devices(GPU, 16, 0).await;
    let error = node.allocate(GPU, &["GPU-3::0"]).await.unwrap_err();
    assert!(
        error.message().contains("MPS control daemon is not ready"),
        "{error}"
    );
    fs::create_dir_all(folder).unwrap();
    let served: Vec<_> = (0..7).map(|gpu| format!("GPU-{gpu}")).collect();
    let folders = gpuc_runtime::mps::Folders::for_resource(&node.path("mps"), GPU);
    let ready = folders.write_ready_file(&served).unwrap();
    node.wait_for_devices(GPU, 16, 14).await;
    node.allocate(GPU, &["GPU-3::0"]).await.unwrap();
    let error = node.allocate(GPU, &["GPU-7::0"]).await.unwrap_err();
    assert!(
        error.message().contains("started without this GPU"),
        "{error}"
    );
    // A control container that was killed leaves the file, without the lock.
    drop(ready);
    node.wait_for_devices(GPU, 16, 0).await;
    assert!(folders.ready.exists());
    node.wait_for_log("see the log of the container `mps-control`")
        .await;
}

/// A key of a newer release next to the name of a variant.
#[tokio::test]
async fn unknown_key_next_to_a_variant_is_ignored() {
    let mut node = Node::new(H100);
    node.config["sharing"] =
        json!({"fair": {"a": 1}, "timeSlicing": {"replicas": 4, "rename": false}});
    node.configure();
    node.start_all().await;
    node.wait_for_devices(GPU, 32, 32).await;
    node.wait_for_log("does not know: `sharing.fair`").await;
}

/// A pipe would block the daemon.
#[tokio::test]
async fn deleted_file_and_pipe_are_reported() {
    let node = Node::running(H100).await;
    let file = node.path("etc/node.json");
    fs::remove_file(&file).unwrap();
    node.wait_for_log("keeping the previous one: ").await;
    node.wait_for_log("No such file or directory").await;
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    node.wait_for_log("it is not a regular file").await;
    node.wait_for_response("/healthz", 200, "ok").await;
    node.wait_until_ready().await;
    node.configure();
    let successful = async || {
        let metrics = node.metrics().await;
        metrics.values_with_labels("gpuc_config_last_reload_successful", &[]) == [1.0]
    };
    let start = std::time::Instant::now();
    while !successful().await {
        assert!(start.elapsed() < std::time::Duration::from_secs(20));
    }
}

/// The daemon handles an unreadable file like an invalid one.
#[tokio::test]
async fn unreadable_configuration_is_logged() {
    let node = Node::running(H100).await;
    fs::write(node.path("etc/node.json"), b"\xff\xfe").unwrap();
    node.wait_for_log("keeping the previous one: cannot be read")
        .await;
    node.wait_until_ready().await;
}

/// The reverted text is the configuration in use, so the error no longer applies.
#[tokio::test]
async fn reverted_configuration_clears_the_error() {
    let node = Node::running(H100).await;
    node.configure_with("{");
    node.wait_for_log("keeping the previous one").await;
    node.configure();
    settle().await;
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_config_last_reload_successful", &[]),
        [1.0]
    );
}

#[tokio::test]
async fn renamed_replicas_change_their_resource() {
    let mut node = Node::running(H100).await;
    node.config["sharing"] = json!({"timeSlicing": {"replicas": 2, "rename": true}});
    node.configure();
    node.kubelet
        .wait_for_registration("nvidia.com/gpu.shared")
        .await;
    node.wait_for_devices("nvidia.com/gpu.shared", 16, 16).await;
    node.wait_for_devices(GPU, 0, 0).await;
    node.wait_until_ready().await;
}

/// The daemon serves the old port until it can listen on the new one, so that no probe fails.
#[tokio::test]
async fn metrics_port_can_change() {
    let mut node = Node::running(H100).await;
    let old = node.address;
    let blocker = std::net::TcpListener::bind((old.ip(), 0)).unwrap();
    let new = blocker.local_addr().unwrap();
    node.config["metrics"]["port"] = json!(new.port());
    node.configure();
    node.wait_for_log("metrics and probes stay at").await;
    node.wait_until_ready().await;
    drop(blocker);
    node.address = new;
    node.wait_until_ready().await;
    node.address = old;
    assert_eq!(node.get("/healthz").await, None);
    // The daemon can return to the old port.
    node.config["metrics"]["port"] = json!(old.port());
    node.configure();
    node.wait_until_ready().await;
    node.address = new;
    let start = std::time::Instant::now();
    while node.get("/healthz").await.is_some() {
        assert!(start.elapsed() < std::time::Duration::from_secs(5));
    }
}

/// The kubelet updates a ConfigMap volume by replacing a symbolic link to a folder.
#[tokio::test]
async fn config_map_update_is_applied() {
    let mut node = Node::new(H100);
    let publish = |node: &Node, version: &str| {
        fs::create_dir(node.path("etc").join(version)).unwrap();
        let file = node.path("etc").join(version).join("node.json");
        fs::write(file, node.config.to_string()).unwrap();
        symlink(version, node.path("etc/..data_tmp")).unwrap();
        fs::rename(node.path("etc/..data_tmp"), node.path("etc/..data")).unwrap();
    };
    fs::remove_file(node.path("etc/node.json")).unwrap();
    node.config["sharing"] = time_slicing(4);
    publish(&node, "..1");
    symlink("..data/node.json", node.path("etc/node.json")).unwrap();
    node.start_all().await;
    node.wait_for_devices(GPU, 32, 32).await;
    for (version, replicas) in [("..2", 8), ("..3", 2)] {
        node.config["sharing"] = time_slicing(replicas);
        publish(&node, version);
        let count = 8 * replicas as usize;
        node.wait_for_devices(GPU, count, count).await;
    }
}

#[tokio::test]
async fn new_quiet_time_applies_to_unhealthy_gpus() {
    let mut node = Node::new(H100);
    node.config["health"] = json!({"watch": true, "quietSeconds": 3600});
    node.configure();
    node.start_all().await;
    node.wait_until_monitoring().await;
    node.driver.event("3 xid 94");
    node.wait_for_devices(GPU, 8, 7).await;
    node.config["health"] = json!({"watch": true, "quietSeconds": 1});
    node.configure();
    node.wait_for_devices(GPU, 8, 8).await;
}
