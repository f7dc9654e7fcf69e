//! There is no image of this name.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};
use crate::placement::gone;

/// There is no image of this name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4015",
        name: "manifest-image-gone",
        severity: Severity::Error,
        summary: "there is no image of this name",
        explain: "### What it checks

Whether the tags of NVIDIA's images have the form that their tags have: `nvidia/cuda` has a version
of three parts and an operating system, and no `latest`; and whether there was a CUDA of that version.
Images of registries other than `docker.io` and `nvcr.io` are left alone: a mirror may have tags of
its own.

### Why it matters

Pages of old name tags that were deleted or never were. The pod stays in `ImagePullBackOff`.

### What to do

Write a tag that there is.
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
      image: nvidia/cuda:11.0-base
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
      image: nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for container in scene.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(node) = container.image() else {
            continue;
        };
        let text = node.text().unwrap_or_default();
        // A digest is what is pulled, whatever the tag says.
        if text.contains('@') {
            continue;
        }
        let Some(found) = gone(text) else {
            continue;
        };
        let draft = report.draft(&RULE.code, node.span(), format!("`{text}` {}", found.why));
        draft.help(found.instead).emit();
    }
}
