//! Clusters that gpuc built whose GPUs are allocated through DRA.

use serde_json::{Value, json};

use super::{build, errors, imported, node, pool, read};

/// A file whose DeviceClass has an extended resource, without its pools' `hosts`.
const FILE: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra, extendedResources: true}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 4}, hosts: [a], nodes: {count: 1}}
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
"#;

/// The objects of a file, its node, and the pod and the ResourceSlice of the DRA driver.
fn cluster(file: &str) -> Vec<Value> {
    let mut objects = build(file).unwrap();
    let labels = json!({"gpuc.dev/pool": "gpu"});
    objects.push(node("a", &labels, &[], &json!({})));
    objects.push(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "plugin", "namespace": "dra-driver-nvidia-gpu"},
        "spec": {"nodeName": "a", "containers": [
            {"name": "gpus", "image": "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.4.0"},
        ]},
    }));
    let device = |index: u32| {
        json!({"name": format!("gpu-{index}"), "attributes": {
            "type": {"string": "gpu"}, "productName": {"string": "NVIDIA L4"},
            "uuid": {"string": format!("GPU-{index}")},
        }})
    };
    objects.push(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "a-gpu"},
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": (0..4).map(device).collect::<Vec<_>>(),
        },
    }));
    objects
}

#[test]
fn extended_resources_are_imported_and_counted_once() {
    let import = imported(&cluster(FILE), &[]);
    let file = read(&import);
    let stack = [&file["stack"], &pool(&import, "gpu")["stack"]];
    let is_set = stack.iter().any(|it| it["extendedResources"] == true);
    assert!(is_set, "{}", import.yaml);
    let quota = &file["teams"][0]["quota"]["gpus"];
    assert_eq!(
        quota,
        &json!([{"pool": "gpu", "limit": 3}]),
        "{}",
        import.yaml
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
    let left_out = import.report.left_out.iter();
    let amounts: Vec<_> = left_out
        .filter(|it| it.reason.contains("nvidia.com/gpu"))
        .collect();
    assert!(amounts.is_empty(), "{amounts:?}");
    let without = FILE.replace(", extendedResources: true", "");
    let import = imported(&cluster(&without), &[]);
    assert!(
        !import.yaml.contains("extendedResources"),
        "{}",
        import.yaml
    );
}
