//! A resource has a name that Kubernetes does not know.

use crate::diag::{Code, Edit, Report, Severity, words};
use crate::manifests::resources::{is_gpu, offered};
use crate::manifests::{Container, Rule, Scene, edit};

/// A resource has a name that Kubernetes does not know.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4032",
        name: "manifest-resource-malformed",
        severity: Severity::Error,
        summary: "a resource has a name that Kubernetes does not know",
        explain: "### What it checks

Whether each resource that a container asks for is one of Kubernetes' own (`cpu`, `memory`,
`ephemeral-storage`, `hugepages-…`), or has the domain of whoever offers it before a slash.

### Why it matters

The API server refuses the pod: `must be a standard resource type or fully qualified`.

### What to do

Write what the pools offer; where they have whole GPUs, `gpuc check --fix` mends `gpu` and its like.
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
      resources: {limits: {gpu: 1}}
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

/// Kubernetes' own resources of containers.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `standardContainerResources` (from memory).
const STANDARD: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// What people call a GPU without its domain.
const PLAIN: &[&str] = &["gpu", "gpus", "nvidia-gpu", "nvidia.com-gpu", "nvidia_gpu"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            for entry in container.asks() {
                let name = entry.key.as_str();
                let is_own = STANDARD.contains(&name) || name.starts_with("hugepages-");
                if is_own || name.contains(['/', '{', '$']) {
                    continue;
                }
                let message = format!("{} asks for `{name}`, which is no resource", pod.title());
                let draft = report.draft(&RULE.code, entry.key_span, message);
                let is_gpus = PLAIN.contains(&name.to_ascii_lowercase().as_str());
                let gpus = offered(scene.cluster);
                let gpus: Vec<_> = gpus.into_iter().filter(|name| is_gpu(name)).collect();
                let whole = gpus.iter().find(|name| **name == "nvidia.com/gpu");
                let near = words::nearest(name, STANDARD.iter().copied());
                let (meant, help) = match (whole.filter(|_| is_gpus), near) {
                    (Some(whole), _) => (Some(*whole), format!("write `{whole}`")),
                    (None, Some(near)) => (Some(near), format!("write `{near}`")),
                    (None, None) if is_gpus && !gpus.is_empty() => (
                        None,
                        format!("the pools offer {}", words::all(&gpus, "and")),
                    ),
                    (None, None) => (
                        None,
                        "write the domain of what offers it before the name, with a slash"
                            .to_owned(),
                    ),
                };
                let draft = draft.help(help);
                match meant.and_then(|meant| mended(scene, container, name, meant)) {
                    Some(edits) => draft.fix(edits).emit(),
                    None => draft.emit(),
                };
            }
        }
    }
}

/// The right name wherever the container has the wrong one; nothing where it has that too.
fn mended(
    scene: &Scene<'_>,
    container: &Container<'_>,
    name: &str,
    meant: &str,
) -> Option<Vec<Edit>> {
    let lists = ["limits", "requests"].map(|list| container.list(list));
    if lists
        .iter()
        .any(|list| list.iter().any(|it| it.key == meant))
    {
        return None;
    }
    let entries = lists.into_iter().flatten().filter(|it| it.key == name);
    entries
        .map(|entry| edit::key(scene.sources, entry, meant))
        .collect()
}
