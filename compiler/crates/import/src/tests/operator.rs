//! The GPU Operator with a `ClusterPolicy`, and the MIG manager.

use serde_json::{Value, json};

use super::{config_map, daemon_pod, errors, imported, node, pool};

const PLUGIN: &str = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0";
const DRIVER: &str = "nvcr.io/nvidia/driver:580.95.05-ubuntu24.04";

const LAYOUTS: &str = "version: v1
mig-configs:
  all-disabled:
  - devices: all
    mig-enabled: false
  halves:
  - device-filter: [\"0x233010DE\"]
    devices: all
    mig-enabled: true
    mig-devices:
      \"1g.10gb\": 9
  - device-filter: [\"0x20B010DE\", \"0x20B210DE\"]
    devices: [0, 1]
    mig-enabled: true
    mig-devices:
      \"3g.40gb\": 2
  - device-filter: [\"0x20B010DE\", \"0x20B210DE\"]
    devices: [2, 3]
    mig-enabled: true
    mig-devices:
      \"1g.10gb\": 7
";

fn policy() -> Value {
    json!({
        "kind": "ClusterPolicy", "apiVersion": "nvidia.com/v1", "metadata": {"name": "cluster-policy"},
        "spec": {
            "driver": {"enabled": true, "version": "580.95.05"},
            "devicePlugin": {"enabled": true, "config": {"name": "plugin-config", "default": "any"}},
            "mig": {"strategy": "mixed"},
            "migManager": {"config": {"name": "our-layouts"}},
        },
        "status": {"state": "ready"},
    })
}

fn cluster(labels: &Value, resources: &Value) -> Vec<Value> {
    let mut all = json!({
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "4",
        "nvidia.com/gpu.present": "true", "nvidia.com/gpu.memory": "81920",
    });
    for (key, value) in labels.as_object().unwrap() {
        all[key] = value.clone();
    }
    vec![
        node("gpu-1", &all, &[], resources),
        node("cpu-1", &json!({}), &[], &json!({})),
        daemon_pod(
            "gpu-operator",
            "nvidia-device-plugin-daemonset",
            "gpu-1",
            PLUGIN,
            "nvidia-device-plugin",
        ),
        daemon_pod(
            "gpu-operator",
            "nvidia-driver-daemonset",
            "gpu-1",
            DRIVER,
            "nvidia-driver-ctr",
        ),
        policy(),
        config_map(
            "gpu-operator",
            "our-layouts",
            &json!({"config.yaml": LAYOUTS}),
        ),
        config_map(
            "gpu-operator",
            "plugin-config",
            &json!({
                "any": "version: v1\nflags:\n  migStrategy: none\n",
                "four": "version: v1\nflags:\n  migStrategy: none\nsharing:\n  timeSlicing:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n",
            }),
        ),
    ]
}

#[test]
fn the_layout_of_the_mig_manager_is_read_by_gpu_model() {
    let labels =
        json!({"nvidia.com/mig.config": "halves", "nvidia.com/mig.config.state": "success"});
    let resources = json!({"nvidia.com/mig-3g.40gb": "4", "nvidia.com/mig-1g.10gb": "14"});
    let import = imported(&cluster(&labels, &resources), &[]);
    let layout = json!({"mig": {"strategy": "mixed", "perGpu": [
        {"gpus": "0-1", "layout": [{"profile": "3g.40gb", "count": 2}]},
        {"gpus": "2-3", "layout": [{"profile": "1g.10gb", "count": 7}]},
    ]}});
    let gpu = pool(&import, "a100");
    assert_eq!(gpu["sharing"], layout, "{}", import.yaml);
    assert_eq!(gpu["gpu"], json!({"model": "a100-sxm4-80gb", "perNode": 4}));
    let stack =
        json!({"driver": "operator", "driverVersion": "580.95.05", "devicePlugin": "operator"});
    assert_eq!(super::read(&import)["stack"], stack);
    // The nodes lack the labels by which gpuc configures the operator: the file has them, and says so.
    assert_eq!(gpu["existing"]["selector"]["nvidia.com/mig.config"], "a100");
    assert!(
        import
            .yaml
            .contains("kubectl label --overwrite nodes gpu-1 nvidia.com/mig.config=a100"),
        "{}",
        import.yaml
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn a_layout_that_is_not_applied_is_reported() {
    let labels =
        json!({"nvidia.com/mig.config": "halves", "nvidia.com/mig.config.state": "failed"});
    let import = imported(&cluster(&labels, &json!({"nvidia.com/gpu": "4"})), &[]);
    let failed = import
        .report
        .left_out
        .iter()
        .find(|it| it.source.contains("mig.config.state"));
    assert!(failed.is_some(), "{:?}", import.report.left_out);
}

#[test]
fn an_unknown_layout_is_no_exclusive_pool_without_a_comment() {
    let labels = json!({"nvidia.com/mig.config": "elsewhere"});
    let resources = json!({"nvidia.com/mig-3g.40gb": "4", "nvidia.com/mig-1g.10gb": "14"});
    let import = imported(&cluster(&labels, &resources), &[]);
    assert_eq!(pool(&import, "a100").get("sharing"), None);
    assert!(
        import
            .yaml
            .contains("# TODO: add `sharing`: the MIG devices are not the same on all GPUs"),
        "{}",
        import.yaml
    );
}

#[test]
fn the_policy_selects_the_configuration_of_the_plugin() {
    let labels = json!({"nvidia.com/device-plugin.config": "four"});
    let import = imported(&cluster(&labels, &json!({"nvidia.com/gpu": "16"})), &[]);
    assert_eq!(
        pool(&import, "a100")["sharing"],
        json!({"timeSlicing": {"replicas": 4}}),
        "{}",
        import.yaml
    );
    let import = imported(&cluster(&json!({}), &json!({"nvidia.com/gpu": "4"})), &[]);
    assert_eq!(pool(&import, "a100").get("sharing"), None);
}

#[test]
fn a_driver_without_pods_is_on_the_host() {
    let objects = cluster(
        &json!({"nvidia.com/gpu.deploy.driver": "pre-installed"}),
        &json!({"nvidia.com/gpu": "4"}),
    );
    let is_driver = |it: &Value| {
        it["metadata"]["name"]
            .as_str()
            .unwrap()
            .contains("driver-daemonset")
    };
    let objects: Vec<Value> = objects.into_iter().filter(|it| !is_driver(it)).collect();
    let import = imported(&objects, &[]);
    assert_eq!(
        super::read(&import)["stack"].get("driver"),
        None,
        "{}",
        import.yaml
    );
    assert_eq!(super::read(&import)["stack"]["devicePlugin"], "operator");
}
