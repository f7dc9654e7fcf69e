//! A container that requests no GPU may access all GPUs of its node.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4012",
        name: "manifest-implicit-gpu-access",
        severity: Severity::Warning,
        summary: "a container that requests no GPU may access all GPUs of its node",
        checks: "Whether a container that requests no GPU sets `NVIDIA_VISIBLE_DEVICES` to GPUs, or runs with the
RuntimeClass `nvidia` in a pod without any GPU. DaemonSets are not checked: they monitor and manage all GPUs
of a node.",
        reason: "NVIDIA's container runtime gives such a container every GPU of the node, including those of other pods. They
share memory and time with a container that the scheduler does not count.",
        remedy: "Request GPUs in `resources.limits`, and remove the variable: the device plugin assigns the GPUs of the
container.",
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
"#,
        correction: Correction::Replace("      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
", ""),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let pods = ctx.pods.iter();
    for pod in pods.filter(|pod| !pod.is_of_daemon_set() && !pod.is_partial) {
        let mut is_reported = false;
        for container in &pod.containers {
            let Some(variable) = container.variable("NVIDIA_VISIBLE_DEVICES") else {
                continue;
            };
            // NVIDIA's runtime exposes no GPUs for these values.
            let means_none = matches!(variable.value(), Some("" | "none" | "void"));
            let claims = container
                .resources()
                .is_some_and(|it| it.value.get("claims").is_some());
            if means_none || container.gpu_request().is_some() || claims {
                continue;
            }
            is_reported = true;
            let message = format!(
                "container `{}` requests no GPU but sets `NVIDIA_VISIBLE_DEVICES` to {}",
                container.name(),
                variable.description()
            );
            let builder = report.diagnostic(&RULE.code, variable.span(), message);
            let builder = builder.primary_label("gives access to the GPUs of other pods");
            builder
                .help("request GPUs in `resources.limits`, and remove the variable")
                .emit();
        }
        let class = pod
            .spec
            .get("runtimeClassName")
            .filter(|class| class.text() == Some("nvidia"));
        let is_ambiguous = !pod.requests_gpus() && !sets_visible_devices(pod);
        if let Some(class) = class.filter(|_| !is_reported && is_ambiguous) {
            let message = format!(
                "{} uses the RuntimeClass `nvidia` but requests no GPU",
                pod.title()
            );
            let builder = report.diagnostic(&RULE.code, class.span(), message);
            let builder =
                builder.primary_label("NVIDIA images request all GPUs of a node from this runtime");
            builder
                .help("request GPUs in `resources.limits`, or remove `runtimeClassName`")
                .emit();
        }
    }
}

/// Whether every container sets `NVIDIA_VISIBLE_DEVICES`.
fn sets_visible_devices(pod: &crate::Pod<'_>) -> bool {
    let mut containers = pod.containers.iter();
    containers.all(|it| it.variable("NVIDIA_VISIBLE_DEVICES").is_some())
}
