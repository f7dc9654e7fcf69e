//! An image has a name that no registry takes.

use crate::check::syntax::image;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};

/// An image has a name that no registry takes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4051",
        name: "manifest-image-invalid",
        severity: Severity::Error,
        summary: "an image has a name that no registry takes",
        explain: "### What it checks

Whether the image of each container is a name as registries take it: a registry, a repository in lower
case, a tag, a digest. Values that a program fills in are not looked at.

### Why it matters

The API server takes the pod, and no node can pull the image: `InvalidImageName`. The pod holds its GPUs
and waits for ever.

### What to do

Write the name as `docker pull` takes it, without `https://`.
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: https://registry.example.com/train:1.0.0
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
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
        if is_left_out(text) {
            continue;
        }
        let Err(problem) = image(text) else {
            continue;
        };
        let message = format!("`{text}` is not the name of an image");
        let draft = report.draft(&RULE.code, node.span(), message);
        let meant = meant(text).filter(|meant| image(meant).is_ok());
        let edit = meant.and_then(|meant| edit::text(scene.sources, node, meant));
        let draft = match meant {
            Some(meant) => draft.help(format!("write `{meant}`")),
            None => draft.help(problem),
        };
        match edit {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}

/// Whether something else says what the image is: a program that fills it in, or a replacement of the whole word. Of
/// spaces the API server says something itself.
fn is_left_out(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c);
    let is_filled_in = ["{{", "${", "$(", "<"]
        .iter()
        .any(|mark| text.contains(mark));
    is_filled_in || text.contains(char::is_whitespace) || text.chars().all(is_word)
}

/// The name without what a browser has before it.
fn meant(text: &str) -> Option<&str> {
    let schemes = ["https://", "http://", "docker://", "oci://"];
    schemes.iter().find_map(|scheme| text.strip_prefix(scheme))
}
