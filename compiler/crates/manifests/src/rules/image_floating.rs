//! A container with GPUs uses a mutable image tag.

use gpuc_kubernetes::names::{floating_tag_problem, parse_image};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4016",
        name: "manifest-image-floating",
        severity: Severity::Warning,
        summary: "a container with GPUs uses a mutable image tag",
        checks: "Whether the image of each container that requests GPUs has a digest, or a tag other than `latest`.",
        reason: "The CUDA version in an image must match the driver of the nodes. A mutable tag may move to an incompatible
image between two starts of a pod.",
        remedy: "Write a tag that names a version, or better a digest.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("registry.example.com/train:latest", "registry.example.com/train:1.4.2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for container in ctx.pods.iter().flat_map(Pod::gpu_containers) {
        let Some(node) = container.image() else {
            continue;
        };
        let text = node.text().unwrap_or_default();
        let Ok(image) = parse_image(text) else {
            continue;
        };
        let is_gone = gpuc_model::scheduling::find_nonexistent(text).is_some();
        let Some(problem) = floating_tag_problem(&image).filter(|_| !is_gone) else {
            continue;
        };
        let builder = report.diagnostic(&RULE.code, node.span(), format!("`{text}` {problem}"));
        builder
            .help(format!(
                "write a tag that does not change, or the digest of the image: `{}@sha256:…`",
                image.name
            ))
            .emit();
    }
}
