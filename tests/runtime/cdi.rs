//! CDI specs, compared with the rules of the format and with the specs that NVIDIA's plugin writes.

use gpuc_runtime::cdi::{Class, Spec, specs};
use gpuc_schema::node_config::Extra;
use serde_json::{Value, json};

use crate::machines::*;

const HOOKS: &[&str] = &[
    "create-symlinks",
    "enable-cuda-compat",
    "update-ldcache",
    "disable-device-node-modification",
    "update-application-profile",
];

fn specs_of(machine: &Machine, hooks: &[&str]) -> Vec<(Class, Spec)> {
    let (config, files) = (&machine.config, &machine.files);
    specs(config, &machine.inventory, files, &driver_files(hooks))
}

fn gpu_spec(machine: &Machine, hooks: &[&str]) -> Value {
    let (_, spec) = specs_of(machine, hooks).remove(0);
    serde_json::to_value(spec).unwrap()
}

fn string_items(value: &Value, key: &str) -> Vec<String> {
    let list = value.as_array().unwrap().iter();
    list.map(|item| item[key].as_str().unwrap().to_owned())
        .collect()
}

/// Checks the rules of cncf-tags/container-device-interface `SPEC.md` and `schema/schema.json` (read 2026-11) for the
/// fields that gpuc writes. A container runtime ignores a spec with an unknown key or an invalid name.
fn assert_valid_spec(spec: &Value) {
    let keys = |value: &Value, allowed: &[&str]| {
        for key in value.as_object().unwrap().keys() {
            assert!(allowed.contains(&key.as_str()), "{key}");
        }
    };
    keys(spec, &["cdiVersion", "kind", "devices", "containerEdits"]);
    assert_eq!(spec["cdiVersion"], "0.5.0");
    let (vendor, class) = spec["kind"].as_str().unwrap().split_once('/').unwrap();
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
    let letter_or_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    assert!(letter(vendor.chars().next()) && letter_or_digit(vendor.chars().last()));
    assert!(
        vendor
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    );
    // Dots in a class are valid since 0.6.0.
    assert!(letter(class.chars().next()) && letter_or_digit(class.chars().last()));
    assert!(
        class
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    );
    let devices = spec["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    let mut names = string_items(&spec["devices"], "name");
    for name in &names {
        // A leading digit is valid since 0.5.0.
        assert!(letter_or_digit(name.chars().next()) && letter_or_digit(name.chars().last()));
        assert!(
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c)),
            "{name}"
        );
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), devices.len(), "duplicate device name");
    for device in devices {
        keys(device, &["name", "containerEdits"]);
        assert!(
            !device["containerEdits"].as_object().unwrap().is_empty(),
            "device without edits"
        );
    }
    let edits = devices
        .iter()
        .chain([spec])
        .map(|item| &item["containerEdits"]);
    for edits in edits {
        keys(edits, &["env", "deviceNodes", "mounts", "hooks"]);
        let each = |key: &str| edits[key].as_array().cloned().unwrap_or_default();
        for env in each("env") {
            assert!(env.as_str().unwrap().find('=').unwrap() > 0);
        }
        for node in each("deviceNodes") {
            keys(&node, &["path", "hostPath"]);
            assert!(node["path"].as_str().unwrap().starts_with("/dev/"));
        }
        for mount in each("mounts") {
            keys(&mount, &["hostPath", "containerPath", "options"]);
            assert!(mount["hostPath"].as_str().unwrap().starts_with('/'));
            assert!(mount["containerPath"].as_str().unwrap().starts_with('/'));
        }
        for hook in each("hooks") {
            keys(&hook, &["hookName", "path", "args"]);
            let stages = [
                "prestart",
                "createRuntime",
                "createContainer",
                "startContainer",
                "poststart",
                "poststop",
            ];
            assert!(stages.contains(&hook["hookName"].as_str().unwrap()));
            assert!(hook["path"].as_str().unwrap().starts_with('/'));
        }
    }
}

#[test]
fn specs_are_valid() {
    let extras = [Extra::Gdrcopy, Extra::Gds, Extra::Mofed, Extra::Imex];
    for machine in [
        machine(&[H100; 8]),
        machine(&[A100; 8]).with_mig_devices("single", 7, &[A100_1G; 7]),
        machine(&[GB200; 4]).with_extras(&extras),
    ] {
        for hooks in [HOOKS, &[]] {
            for (class, spec) in specs_of(&machine, hooks) {
                let spec = serde_json::to_value(spec).unwrap();
                assert_eq!(spec["kind"], class.kind());
                assert_valid_spec(&spec);
            }
        }
    }
}

#[test]
fn gpus_are_devices_with_nodes() {
    let spec = gpu_spec(&machine(&[H100; 8]), HOOKS);
    assert_eq!(spec["kind"], "k8s.device-plugin.nvidia.com/gpu");
    let expected: Vec<_> = (0..8).map(uuid).collect();
    assert_eq!(string_items(&spec["devices"], "name"), expected);
    let edits = &spec["devices"][5]["containerEdits"];
    assert_eq!(
        string_items(&edits["deviceNodes"], "path"),
        ["/dev/nvidia5"]
    );
    let common = &spec["containerEdits"];
    assert_eq!(common["env"][0], "NVIDIA_VISIBLE_DEVICES=void");
    assert_eq!(common["deviceNodes"][0]["path"], "/dev/nvidiactl");
    let options = ["ro", "nosuid", "nodev", "rbind", "rprivate"];
    assert_eq!(common["mounts"][0]["options"], json!(options));
}

#[test]
fn mig_device_has_gpu_and_capability_nodes() {
    let mut machine = machine(&[A100; 1]).with_mig_devices("single", 7, &[A100_1G; 7]);
    let spec = gpu_spec(&machine, HOOKS);
    let devices = spec["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 8);
    assert_eq!(devices[1]["name"], mig_device_uuid(0, 0));
    let nodes = string_items(&devices[1]["containerEdits"]["deviceNodes"], "path");
    let expected = [
        "/dev/nvidia0",
        "/dev/nvidia-caps/nvidia-cap66",
        "/dev/nvidia-caps/nvidia-cap67",
    ];
    assert_eq!(nodes, expected);
    // A MIG device with an unknown capability does not affect the others.
    machine.files.mig_minors.remove("gpu0/gi7/access");
    let spec = gpu_spec(&machine, HOOKS);
    assert_eq!(spec["devices"].as_array().unwrap().len(), 7);
}

#[test]
fn hook_arguments_match_the_toolkit() {
    let spec = gpu_spec(&machine(&[H100]), HOOKS);
    let hooks = &spec["containerEdits"]["hooks"];
    assert_eq!(string_items(hooks, "path"), ["/usr/bin/nvidia-cdi-hook"; 5]);
    let args: Vec<_> = (0..5).map(|index| hooks[index]["args"].clone()).collect();
    let links = [
        "nvidia-cdi-hook",
        "create-symlinks",
        "--link",
        "libcuda.so.1::/usr/lib64/libcuda.so",
    ];
    assert_eq!(args[0], json!(links));
    let compat = [
        "nvidia-cdi-hook",
        "enable-cuda-compat",
        "--host-driver-version=570.86.15",
    ];
    assert_eq!(args[1], json!(compat));
    let cache = [
        "nvidia-cdi-hook",
        "update-ldcache",
        "--folder",
        "/usr/lib64",
    ];
    assert_eq!(args[2], json!(cache));
}

#[test]
fn only_supported_hooks_are_used() {
    let spec = gpu_spec(&machine(&[H100]), &["create-symlinks", "update-ldcache"]);
    let hooks = spec["containerEdits"]["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 2);
}

#[test]
fn libraries_have_sonames_without_toolkit() {
    let spec = gpu_spec(&machine(&[H100]), &[]);
    assert!(spec["containerEdits"].get("hooks").is_none());
    let mounts = &spec["containerEdits"]["mounts"];
    let container_paths = string_items(mounts, "containerPath");
    let host_paths = string_items(mounts, "hostPath");
    let position = container_paths
        .iter()
        .position(|path| path == "/usr/lib64/libcuda.so.1")
        .unwrap();
    assert_eq!(host_paths[position], "/usr/lib64/libcuda.so.570.86.15");
    let with_hooks = gpu_spec(&machine(&[H100]), HOOKS);
    let container_paths = string_items(&with_hooks["containerEdits"]["mounts"], "containerPath");
    assert!(!container_paths.contains(&"/usr/lib64/libcuda.so.1".to_owned()));
}

#[test]
fn driver_in_another_root_is_mounted() {
    let mut machine = machine(&[H100]);
    machine.config.driver.host_root = "/run/nvidia/driver".to_owned();
    let spec = gpu_spec(&machine, HOOKS);
    let mount = &spec["containerEdits"]["mounts"][0];
    assert_eq!(
        mount["hostPath"],
        "/run/nvidia/driver/usr/lib64/libcuda.so.570.86.15"
    );
    assert_eq!(mount["containerPath"], "/usr/lib64/libcuda.so.570.86.15");
}

#[test]
fn driver_container_nodes_are_below_its_root() {
    let mut machine = machine(&[H100]).with_extras(&[Extra::Gds]);
    machine.files.dev_root = "/run/nvidia/driver".to_owned();
    let spec = gpu_spec(&machine, HOOKS);
    let node = &spec["devices"][0]["containerEdits"]["deviceNodes"][0];
    let expected = json!({"path": "/dev/nvidia0", "hostPath": "/run/nvidia/driver/dev/nvidia0"});
    assert_eq!(*node, expected);
    // The device nodes of GPUDirect Storage are always on the host.
    let storage = serde_json::to_value(&specs_of(&machine, HOOKS)[1].1).unwrap();
    let node = &storage["devices"][0]["containerEdits"]["deviceNodes"][0];
    assert_eq!(*node, json!({"path": "/dev/nvidia-fs0"}));
}

#[test]
fn components_have_specs_if_present() {
    let extras = [Extra::Gds, Extra::Imex];
    let machine = machine(&[GB200; 4]).with_extras(&extras);
    let specs = specs_of(&machine, HOOKS);
    let classes: Vec<_> = specs.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes, [Class::Gpu, Class::ImexChannel, Class::Gds]);
    let channels = serde_json::to_value(&specs[1].1).unwrap();
    assert_eq!(string_items(&channels["devices"], "name"), ["0", "1"]);
    let storage = serde_json::to_value(&specs[2].1).unwrap();
    assert_eq!(storage["devices"][0]["name"], "all");
    let mounts = &storage["devices"][0]["containerEdits"]["mounts"];
    assert_eq!(string_items(mounts, "hostPath"), ["/etc/cufile.json"]);
}

#[test]
fn node_without_gpus_has_no_specs() {
    assert!(specs_of(&machine(&[]), HOOKS).is_empty());
}
