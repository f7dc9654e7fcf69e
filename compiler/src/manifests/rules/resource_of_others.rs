//! A manifest asks for another maker's accelerators.

use crate::cloud::CLOUDS;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::resources::{is_gpu, offered};
use crate::manifests::{Rule, Scene};

/// A manifest asks for another maker's accelerators.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4033",
        name: "manifest-resource-of-others",
        severity: Severity::Warning,
        summary: "a manifest asks for another maker's accelerators",
        explain: "### What it checks

Whether a container asks for accelerators that are not NVIDIA's, such as `amd.com/gpu`, and that no
pool offers: gpuc makes pools with NVIDIA's GPUs alone.

### Why it matters

Unless the cluster has nodes that gpuc does not know of, the pod waits for ever.

### What to do

Ask for what the help names. If other nodes have them, write `allow: [manifest-resource-of-others]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {amd.com/gpu: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// What other accelerators' device plugins offer, and whose they are.
///
/// Source: ROCm/k8s-device-plugin, intel/intel-device-plugins-for-kubernetes and the plugin of `HabanaAI` (from
/// memory). What clouds have of their own stands in their facts.
const OTHERS: &[(&str, &str)] = &[
    ("amd.com/gpu", "AMD's GPUs"),
    ("gpu.intel.com/", "Intel's GPUs"),
    ("habana.ai/", "Intel's Gaudi"),
];

fn run(scene: &Scene<'_>, report: &mut Report) {
    let offered = offered(scene.cluster);
    for pod in &scene.pods {
        for container in &pod.containers {
            for entry in container.asks() {
                let of_clouds = CLOUDS.iter().flat_map(|it| it.facts().other_accelerators);
                let mut others = OTHERS.iter().chain(of_clouds);
                let Some((_, whose)) = others.find(|(name, _)| entry.key.starts_with(name)) else {
                    continue;
                };
                if offered.contains(&entry.key.as_str()) {
                    continue;
                }
                let message = format!(
                    "{} asks for `{}`, which no pool offers",
                    pod.title(),
                    entry.key
                );
                let draft = report.draft(&RULE.code, entry.key_span, message);
                let draft = draft.here(format!("these are {whose}"));
                let draft = match scene.cluster.gpu_pools().next() {
                    Some((pool, _)) => {
                        draft.label(pool.name.span, format!("pool `{}` has NVIDIA's", pool.name))
                    }
                    None => draft,
                };
                let gpus: Vec<_> = offered.iter().filter(|name| is_gpu(name)).collect();
                draft
                    .help(match gpus.as_slice() {
                        [] => "the pools offer no GPUs as resources".to_owned(),
                        gpus => format!("the pools offer {}", words::all(gpus, "and")),
                    })
                    .emit();
            }
        }
    }
}
