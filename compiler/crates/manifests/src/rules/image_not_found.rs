//! The image does not exist.

use gpuc_model::scheduling::find_nonexistent;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4015",
        name: "manifest-image-not-found",
        severity: Severity::Error,
        summary: "an image does not exist",
        checks: "Whether the tags of NVIDIA images have a valid form: tags of `nvidia/cuda` have a three-part version and an
operating system, and there is no `latest`. The CUDA version must have been released. Images of registries
other than `docker.io` and `nvcr.io` are not checked: a mirror may have its own tags.",
        reason: "Old tutorials name tags that were deleted or never existed. The pod stays in `ImagePullBackOff`.",
        remedy: "Write an existing tag.",
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
      image: nvidia/cuda:11.0-base
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("nvidia/cuda:11.0-base", "nvidia/cuda:12.8.1-base-ubuntu24.04"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for container in ctx.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(node) = container.image() else {
            continue;
        };
        let text = node.text().unwrap_or_default();
        // A digest takes precedence over the tag.
        if text.contains('@') {
            continue;
        }
        let Some(found) = find_nonexistent(text) else {
            continue;
        };
        let builder = report.diagnostic(
            &RULE.code,
            node.span(),
            format!("`{text}` {}", found.reason),
        );
        builder.help(found.help).emit();
    }
}
