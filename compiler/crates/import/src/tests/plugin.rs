//! NVIDIA's device plugin, installed by Helm.

use serde_json::{Value, json};

use super::{config_map, daemon_pod, errors, imported, node, pool, provided};

const PLUGIN: &str = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0";

fn cluster(labels: &Value, config: &str) -> Vec<Value> {
    let mut all = json!({
        "eks.amazonaws.com/nodegroup": "gpu", "node.kubernetes.io/instance-type": "g6.12xlarge",
        "topology.kubernetes.io/region": "eu-central-1",
    });
    for (key, value) in labels.as_object().unwrap() {
        all[key] = value.clone();
    }
    let node = node(
        "gpu-1",
        &all,
        &["nvidia.com/gpu=present:NoSchedule"],
        &json!({"nvidia.com/gpu": "16"}),
    );
    vec![
        provided(node, "aws:///eu-central-1a/i-1"),
        daemon_pod(
            "nvidia",
            "nvdp-nvidia-device-plugin",
            "gpu-1",
            PLUGIN,
            "nvidia-device-plugin-ctr",
        ),
        config_map(
            "nvidia",
            "nvdp-nvidia-device-plugin-configs",
            &json!({
                "config": config,
                "other": "version: v1\nflags: {migStrategy: none}\n",
            }),
        ),
    ]
}

const SLICED: &str = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n";

#[test]
fn the_label_of_the_node_selects_the_configuration() {
    let import = imported(
        &cluster(
            &json!({"nvidia.com/device-plugin.config": "config"}),
            SLICED,
        ),
        &[],
    );
    let gpu = pool(&import, "gpu");
    assert_eq!(
        gpu["sharing"],
        json!({"timeSlicing": {"replicas": 4}}),
        "{}",
        import.yaml
    );
    assert_eq!(gpu["machine"], "g6.12xlarge");
    assert_eq!(
        gpu["taints"],
        json!([{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}])
    );
    assert_eq!(
        gpu["existing"],
        json!({"selector": {"eks.amazonaws.com/nodegroup": "gpu"}})
    );
    assert_eq!(
        super::read(&import)["stack"],
        json!({"devicePlugin": "nvidia"})
    );
    // The account alone is not known.
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn mps_and_renamed_replicas_are_read() {
    let config = "version: v1\nsharing:\n  mps:\n    renameByDefault: true\n    resources: [{name: nvidia.com/gpu, replicas: 8}]\n";
    let import = imported(
        &cluster(
            &json!({"nvidia.com/device-plugin.config": "config"}),
            config,
        ),
        &[],
    );
    assert_eq!(
        pool(&import, "gpu")["sharing"],
        json!({"mps": {"replicas": 8, "rename": true}})
    );
}

#[test]
fn amounts_alone_are_a_guess_with_a_comment() {
    let objects = cluster(&json!({}), SLICED);
    let without_config: Vec<Value> = objects
        .into_iter()
        .filter(|it| it["kind"] != "ConfigMap")
        .collect();
    let import = imported(&without_config, &[]);
    assert_eq!(
        pool(&import, "gpu")["sharing"],
        json!({"timeSlicing": {"replicas": 4}})
    );
    assert!(
        import
            .yaml
            .contains("# guessed: no label and no ConfigMap says how"),
        "{}",
        import.yaml
    );
    assert!(super::keys(&import.report.guessed).contains(&"nodePools[gpu].sharing"));
}

#[test]
fn a_configuration_that_no_node_selects_is_not_used() {
    // Neither a label nor a configuration `default`.
    let import = imported(&cluster(&json!({}), SLICED), &[]);
    assert!(
        super::keys(&import.report.guessed).contains(&"nodePools[gpu].sharing"),
        "{}",
        import.yaml
    );
}

#[test]
fn a_second_device_plugin_is_reported() {
    let mut objects = cluster(&json!({}), SLICED);
    let image = "registry.example.com/gpuc-runtime:0.1.0";
    objects.push(daemon_pod(
        "gpuc-system",
        "gpuc-runtime",
        "gpu-1",
        image,
        "runtime",
    ));
    let import = imported(&objects, &[]);
    let second = import
        .report
        .left_out
        .iter()
        .find(|it| it.reason.contains("runs on the nodes as well"));
    assert!(second.is_some(), "{:?}", import.report.left_out);
}
