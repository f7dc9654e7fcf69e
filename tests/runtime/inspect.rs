//! `gpuc-runtime inspect`: what people and programs read about a node is committed, and a change of it is a diff.

use std::fs;
use std::path::Path;

use gpuc_schema::node_config::NodeSharing;
use serde_json::{Value, json};

use crate::command::Node;
use crate::fake_driver::FakeDriver;

#[test]
fn eight_full_gpus() {
    let node = Node::new(
        Path::new("/nonexistent"),
        &NodeSharing::Exclusive,
        &json!({"nvidia.com/gpu": 8}),
    );
    let code = Some(0);
    assert_eq!(assert_output(&node, "h100x8", &["--fake", "h100x8"]), code);
}

#[test]
fn mig_devices() {
    let sharing = NodeSharing::Mig {
        strategy: gpuc_schema::config::MigStrategy::Mixed,
        apply: true,
        gpus: Vec::new(),
    };
    let resources = json!({"nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-1g.10gb": 3});
    let node = Node::new(Path::new("/nonexistent"), &sharing, &resources);
    let machine = "h100x2:mig=3g.40gb,1g.10gb*3";
    // The configuration expects eight GPUs and half as many MIG devices: the differences are reported with exit code 3.
    assert_eq!(
        assert_output(&node, "h100x2-mig", &["--fake", machine]),
        Some(3)
    );
}

#[test]
fn unresponsive_gpu() {
    let driver = FakeDriver::new("gpus = 3\ngpu.model = h100-sxm5-80gb\ngpu.1.lost = 1");
    let resources = json!({"nvidia.com/gpu": 3});
    let node = Node::new(driver.root(), &NodeSharing::Exclusive, &resources);
    assert_eq!(assert_output(&node, "h100x3-one-lost", &[]), Some(3));
}

/// Three GPUs are there as configured, and the command does not end well all the same: one of them cannot be used.
#[test]
fn unhealthy_gpu_changes_the_exit_code() {
    for (fault, says) in [
        ("gpu.1.lost = 1", "not responding: GPU 1: "),
        (
            "gpu.1.recovery_action = 2",
            "the driver requests a reboot of the node",
        ),
        (
            "gpu.1.remapped = 0 1 0 1",
            "a memory row could not be remapped",
        ),
    ] {
        let driver = FakeDriver::new(&format!("gpus = 8\ngpu.model = h100-sxm5-80gb\n{fault}"));
        let resources = json!({"nvidia.com/gpu": 8});
        let node = Node::new(driver.root(), &NodeSharing::Exclusive, &resources);
        let ended = node.run(&["inspect"]);
        assert!(ended.out.contains(says), "{}", ended.out);
        assert!(
            !ended.out.contains("differences from the configuration"),
            "{}",
            ended.out
        );
        assert_eq!(ended.code, Some(3), "{fault}");
        let ended = node.run(&["inspect", "--format=json"]);
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(json["unwell"].as_object().unwrap().len(), 1);
        assert_eq!(ended.code, Some(3), "{fault}");
    }
}

#[test]
fn invalid_arguments_get_help() {
    let node = Node::new(
        Path::new("/nonexistent"),
        &NodeSharing::Exclusive,
        &json!({}),
    );
    let ended = node.run(&["inspect", "--fake=l4", "--log=warning"]);
    assert_eq!(ended.code, Some(2), "{}", ended.log);
    assert!(
        ended
            .log
            .contains("`warning` is not a log level: use off, error, warn"),
        "{}",
        ended.log
    );
    let nowhere = node.folder().join("nowhere.json");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
    command
        .args(["inspect", "--fake=l4", "--config"])
        .arg(nowhere);
    let ended: crate::command::CommandOutput = command.output().unwrap().into();
    assert_eq!(ended.code, Some(1), "{}", ended.log);
    let says = "does not exist: pass the node configuration with --config";
    assert!(ended.log.contains(says), "{}", ended.log);
}

/// Two GPUs of one name would be one to the kubelet, and a container would get either.
#[test]
fn duplicate_uuid_is_reported() {
    let driver = FakeDriver::new(
        "gpus = 4\ngpu.model = h100-sxm5-80gb\ngpu.0.uuid = GPU-same\ngpu.2.uuid = GPU-same\ngpu.3.uuid = ",
    );
    let resources = json!({"nvidia.com/gpu": 4});
    let node = Node::new(driver.root(), &NodeSharing::Exclusive, &resources);
    let ended = node.run(&["inspect"]);
    assert_eq!(ended.code, Some(3));
    for says in [
        "nvidia.com/gpu  4           2        4",
        "gpu-2-silent: not responding: GPU 2: the driver reports the UUID of GPU 0, GPU-same",
        "gpu-3-silent: not responding: GPU 3: the driver reports no UUID",
    ] {
        assert!(ended.out.contains(says), "{}", ended.out);
    }
}

#[test]
fn unexpected_count_changes_the_exit_code() {
    let nowhere = Path::new("/nonexistent");
    let resources = json!({"nvidia.com/gpu": 16});
    let node = Node::new(nowhere, &NodeSharing::Exclusive, &resources);
    let ended = node.run(&["inspect", "--fake", "h100x8"]);
    let says = "differences from the configuration:\n  nvidia.com/gpu: 8 advertised, 16 expected\n";
    assert!(ended.out.contains(says), "{}", ended.out);
    assert_eq!(ended.code, Some(3));
}

/// Holds both formats against the committed files, and returns how the command ended.
fn assert_output(node: &Node, name: &str, words: &[&str]) -> Option<i32> {
    let table = node.run(&[&["inspect"], words].concat());
    let json = node.run(&[&["inspect", "--format=json"], words].concat());
    serde_json::from_str::<Value>(&json.out)
        .unwrap_or_else(|error| panic!("{error}: {}", json.log));
    assert_eq!(table.code, json.code);
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = runtime.parent().unwrap().join("golden/inspect");
    for (file, text) in [("txt", &table.out), ("json", &json.out)] {
        let path = folder.join(format!("{name}.{file}"));
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == *text,
            "{} is stale; run UPDATE_EXPECT=1 cargo test, then read the diff. Now:\n{text}",
            path.display()
        );
    }
    table.code
}
