//! `gpuc-runtime inspect`: both output formats, compared with the golden files.

use std::fs;
use std::path::Path;

use gpuc_schema::node_config::NodeSharing;
use serde_json::{Value, json};

use crate::command::Node;
use crate::fake_driver::FakeDriver;

#[test]
fn full_gpus_exit_with_code_0() {
    let node = Node::new(
        Path::new("/nonexistent"),
        &NodeSharing::Exclusive,
        &json!({"nvidia.com/gpu": 8}),
    );
    let code = Some(0);
    assert_eq!(assert_output(&node, "h100x8", &["--fake", "h100x8"]), code);
}

#[test]
fn unexpected_mig_devices_exit_with_code_3() {
    let sharing = NodeSharing::Mig {
        strategy: gpuc_schema::config::MigStrategy::Mixed,
        apply: true,
        gpus: Vec::new(),
    };
    let resources = json!({"nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-1g.10gb": 3});
    let node = Node::new(Path::new("/nonexistent"), &sharing, &resources);
    let machine = "h100x2:mig=3g.40gb,1g.10gb*3";
    // The configuration expects more GPUs and fewer MIG devices than the machine has.
    assert_eq!(
        assert_output(&node, "h100x2-mig", &["--fake", machine]),
        Some(3)
    );
}

#[test]
fn unresponsive_gpu_exits_with_code_3() {
    let driver = FakeDriver::new("gpus = 3\ngpu.model = h100-sxm5-80gb\ngpu.1.lost = 1");
    let resources = json!({"nvidia.com/gpu": 3});
    let node = Node::new(driver.root(), &NodeSharing::Exclusive, &resources);
    assert_eq!(assert_output(&node, "h100x3-one-lost", &[]), Some(3));
}

/// The number of GPUs is as configured, but one of the GPUs cannot be used.
#[test]
fn unhealthy_gpu_changes_the_exit_code() {
    for (fault, message) in [
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
        let output = node.run(&["inspect"]);
        assert!(output.out.contains(message), "{}", output.out);
        assert!(
            !output.out.contains("differences from the configuration"),
            "{}",
            output.out
        );
        assert_eq!(output.code, Some(3), "{fault}");
        let output = node.run(&["inspect", "--format=json"]);
        let json: Value = serde_json::from_str(&output.out).unwrap();
        assert_eq!(json["unhealthy"].as_object().unwrap().len(), 1);
        assert_eq!(output.code, Some(3), "{fault}");
    }
}

#[test]
fn invalid_arguments_get_help() {
    let node = Node::new(
        Path::new("/nonexistent"),
        &NodeSharing::Exclusive,
        &json!({}),
    );
    let output = node.run(&["inspect", "--fake=l4", "--log=warning"]);
    assert_eq!(output.code, Some(2), "{}", output.log);
    assert!(
        output
            .log
            .contains("`warning` is not a log level: use off, error, warn"),
        "{}",
        output.log
    );
    let missing_file = node.folder().join("nowhere.json");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
    command
        .args(["inspect", "--fake=l4", "--config"])
        .arg(missing_file);
    let output: crate::command::CommandOutput = command.output().unwrap().into();
    assert_eq!(output.code, Some(1), "{}", output.log);
    let message = "does not exist: pass the node configuration with --config";
    assert!(output.log.contains(message), "{}", output.log);
}

/// For the kubelet, two GPUs with the same UUID are one device, and a container could get either.
#[test]
fn duplicate_uuid_is_reported() {
    let driver = FakeDriver::new(
        "gpus = 4\ngpu.model = h100-sxm5-80gb\ngpu.0.uuid = GPU-same\ngpu.2.uuid = GPU-same\ngpu.3.uuid = ",
    );
    let resources = json!({"nvidia.com/gpu": 4});
    let node = Node::new(driver.root(), &NodeSharing::Exclusive, &resources);
    let output = node.run(&["inspect"]);
    assert_eq!(output.code, Some(3));
    for message in [
        "nvidia.com/gpu  4           2        4",
        "gpu-2-unresponsive: not responding: GPU 2: the driver reports the UUID of GPU 0, GPU-same",
        "gpu-3-unresponsive: not responding: GPU 3: the driver reports no UUID",
    ] {
        assert!(output.out.contains(message), "{}", output.out);
    }
}

#[test]
fn unexpected_count_changes_the_exit_code() {
    let driver = Path::new("/nonexistent");
    let resources = json!({"nvidia.com/gpu": 16});
    let node = Node::new(driver, &NodeSharing::Exclusive, &resources);
    let output = node.run(&["inspect", "--fake", "h100x8"]);
    let message =
        "differences from the configuration:\n  nvidia.com/gpu: 8 advertised, 16 expected\n";
    assert!(output.out.contains(message), "{}", output.out);
    assert_eq!(output.code, Some(3));
}

/// Compares both formats with the golden files, and returns the exit code.
fn assert_output(node: &Node, name: &str, args: &[&str]) -> Option<i32> {
    let table = node.run(&[&["inspect"], args].concat());
    let json = node.run(&[&["inspect", "--format=json"], args].concat());
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
