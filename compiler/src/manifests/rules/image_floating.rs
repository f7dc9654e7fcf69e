//! A container with GPUs runs an image that may change under its name.

use crate::check::floating_tags::floats;
use crate::check::syntax::image;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Pod, Rule, Scene};

/// A container with GPUs runs an image that may change under its name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4016",
        name: "manifest-image-floating",
        severity: Severity::Warning,
        summary: "a container with GPUs runs an image that may change under its name",
        explain: "### What it checks

Whether the image of each container that asks for GPUs has a digest, or a tag other than `latest`.

### Why it matters

The CUDA in an image must fit the driver of the nodes. An image that changes under its name may stop
to, between one start and the next.

### What to do

Write a tag that names a version, or better a digest.
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
      image: registry.example.com/train:latest
      resources: {limits: {nvidia.com/gpu: 1}}
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
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: registry.example.com/train:1.4.2
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for container in scene.pods.iter().flat_map(Pod::with_gpus) {
        let Some(node) = container.image() else {
            continue;
        };
        let text = node.text().unwrap_or_default();
        let Ok(parts) = image(text) else {
            continue;
        };
        let is_gone = crate::placement::gone(text).is_some();
        let Some(what) = floats(&parts).filter(|_| !is_gone) else {
            continue;
        };
        let draft = report.draft(&RULE.code, node.span(), format!("`{text}` {what}"));
        draft
            .help(format!(
                "write a tag that stays, or the image's digest: `{}@sha256:…`",
                parts.name
            ))
            .emit();
    }
}
