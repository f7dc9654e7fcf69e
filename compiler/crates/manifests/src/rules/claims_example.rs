//! The cluster of the examples with ResourceClaims.

/// An example with ResourceClaims: a manifest for a cluster whose pool allocates GPUs through DRA.
macro_rules! claims_example {
    ($manifest:literal) => {
        concat!(
            r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
"#,
            $manifest
        )
    };
}
