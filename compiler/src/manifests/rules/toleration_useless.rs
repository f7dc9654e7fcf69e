//! A pod without GPUs tolerates the taint of GPU nodes.

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::{Amount, amount};
use crate::manifests::{Pod, Rule, Scene};
use crate::model::{POOL_LABEL, PoolTaint};
use crate::node::{Node, Value};

/// A pod without GPUs tolerates the taint of GPU nodes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4005",
        name: "manifest-toleration-useless",
        severity: Severity::Warning,
        summary: "a pod without GPUs tolerates the taint of GPU nodes",
        explain: "### What it checks

Whether a pod that asks for no GPU tolerates, by its key, a taint that only pools with GPUs have.
DaemonSets may, and so may pods that choose such a pool by name.

### Why it matters

The taint keeps pods away that do not need the GPUs. With the toleration such a pod lands on a GPU
node whenever that has room, takes its CPU and memory, and keeps an autoscaler from removing it.

### What to do

Remove the toleration, or ask for a GPU.
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
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let pods = scene.pods.iter();
    for pod in pods.filter(|pod| !pod.is_open && !pod.is_of_nodes() && !pod.asks_for_gpus()) {
        // GPUs that are misspelt, or stand in the wrong place, are a finding of their own.
        let mut containers = pod.containers.iter();
        if chooses(scene, pod) || containers.any(|it| means_gpus(it.node)) {
            continue;
        }
        let tolerations = pod.spec.get("tolerations").map_or(&[][..], Node::items);
        for toleration in tolerations {
            let Some(key) = toleration.get("key").and_then(Node::text) else {
                continue;
            };
            let Some((pool, taint)) = of_gpus(scene, key) else {
                continue;
            };
            let message = format!("{} asks for no GPU and tolerates `{key}`", pod.title());
            let draft = report.draft(&RULE.code, toleration.span(), message);
            let text = format!("the taint keeps others away from pool `{pool}`");
            draft
                .label(taint.span, text)
                .help("remove the toleration, or ask for a GPU in `resources.limits`")
                .emit();
        }
    }
}

/// Whether something in a container is called like GPUs, with an amount.
fn means_gpus(node: &Node) -> bool {
    node.entries().iter().any(|entry| {
        let name = entry.key.to_ascii_lowercase();
        let is_one = name.contains("gpu") || name.contains("nvidia") || name.contains("/mig-");
        let is_some = match amount(&entry.value) {
            Amount::Whole(count) => count > 0,
            Amount::Open => true,
            Amount::Refused => matches!(entry.value.value, Value::Scalar(_)),
        };
        (is_one && is_some) || means_gpus(&entry.value)
    })
}

/// Whether the pod names a pool on purpose.
fn chooses(scene: &Scene<'_>, pod: &Pod<'_>) -> bool {
    let selector = pod.spec.get("nodeSelector").map_or(&[][..], Node::entries);
    let labels = scene.cluster.pools.iter().flat_map(|pool| &pool.selector);
    let keys: Vec<_> = labels
        .map(|label| label.key.as_str())
        .chain([POOL_LABEL])
        .collect();
    selector
        .iter()
        .any(|entry| keys.contains(&entry.key.as_str()))
        || pod
            .spec
            .get("affinity")
            .is_some_and(|it| it.get("nodeAffinity").is_some())
}

/// The taint of this key that pools with GPUs have and no others.
fn of_gpus<'s>(scene: &Scene<'s>, key: &str) -> Option<(&'s str, &'s PoolTaint)> {
    let named = |taint: &&PoolTaint| taint.key == key;
    let mut pools = scene.cluster.pools.iter();
    if pools.any(|pool| !pool.has_gpus() && pool.taints.iter().any(|taint| taint.key == key)) {
        return None;
    }
    let mut with = scene.cluster.gpu_pools();
    with.find_map(|(pool, _)| Some((pool.name.value.as_str(), pool.taints.iter().find(named)?)))
}
