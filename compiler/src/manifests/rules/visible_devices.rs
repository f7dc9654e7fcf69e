//! A container with GPUs says itself which ones it sees.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};

/// A container with GPUs says itself which ones it sees.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4031",
        name: "manifest-visible-devices-set",
        severity: Severity::Warning,
        summary: "a container with GPUs says itself which ones it sees",
        explain: "### What it checks

Whether a container that asks for GPUs sets `NVIDIA_VISIBLE_DEVICES`.

### Why it matters

The device plugin says by this variable which GPUs a container has, and the one of the pod's own takes
its place: with `all` the container sees every GPU of the node, those of other pods too, with `0` the
first one, whoever has it, and with `none` not even its own.

### What to do

Remove the variable. Which of its GPUs a program uses, `CUDA_VISIBLE_DEVICES` says.
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
      resources: {limits: {nvidia.com/gpu: 1}}
      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
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

// Source: kubernetes `pkg/kubelet/kubelet_pods.go`, `GenerateRunContainerOptions`: what the pod says comes after what
// device plugins say (from memory).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for container in scene.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(gpus) = container.gpus() else {
            continue;
        };
        let Some(value) = container.env("NVIDIA_VISIBLE_DEVICES") else {
            continue;
        };
        let text = value.text().unwrap_or_default();
        let message = format!(
            "container `{}` asks for `{}` and sets `NVIDIA_VISIBLE_DEVICES` to `{text}`",
            container.name(),
            gpus.key
        );
        let here = match text {
            "" | "none" | "void" => "it would not see its own GPUs",
            _ => "it would see GPUs of other pods",
        };
        let draft = report.draft(&RULE.code, value.span(), message);
        let draft = draft.here(here);
        let draft = draft.label(gpus.key_span, "the device plugin says which ones these are");
        draft.help("remove the variable").emit();
    }
}
