//! A container with GPUs overrides `NVIDIA_VISIBLE_DEVICES`.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4031",
        name: "manifest-visible-devices-set",
        severity: Severity::Warning,
        summary: "a container with GPUs overrides `NVIDIA_VISIBLE_DEVICES`",
        checks: "Whether a container that requests GPUs sets `NVIDIA_VISIBLE_DEVICES`.",
        reason: "The device plugin passes the GPUs of a container in this variable, and the variable of the pod takes
precedence. With `all`, the container has access to every GPU of the node, including those of other pods.
With `0`, it uses the first GPU, whichever pod it is allocated to. With `none`, it has no access to its own
GPUs.",
        remedy: "Remove the variable. To select some of the container's GPUs for a program, set `CUDA_VISIBLE_DEVICES`.",
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
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
"#,
        correction: Correction::Replace("      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
", ""),
    },
    run,
};

// Source: kubernetes `pkg/kubelet/kubelet_pods.go`, `GenerateRunContainerOptions`: what the pod says comes after what
// device plugins say (read 2026-11-26).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for container in ctx.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(gpus) = container.gpu_request() else {
            continue;
        };
        let Some(variable) = container.variable("NVIDIA_VISIBLE_DEVICES") else {
            continue;
        };
        let message = format!(
            "container `{}` requests `{}` but sets `NVIDIA_VISIBLE_DEVICES` to {}",
            container.name(),
            gpus.key,
            variable.description()
        );
        let effect = match variable.value() {
            Some("" | "none" | "void") => "removes access to the container's own GPUs",
            Some(_) => "gives access to the GPUs of other pods",
            None => "replaces the GPUs of the container",
        };
        let builder = report.diagnostic(&RULE.code, variable.span(), message);
        let builder = builder.primary_label(effect);
        let builder = builder.label(
            gpus.key_span,
            "the device plugin sets the variable for these",
        );
        builder.help("remove the variable").emit();
    }
}
