//! A running container has lost its GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, logs_command, pod_ref, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7801",
        name: "container-lost-gpu",
        severity: Severity::Error,
        summary: "a running container has lost its GPUs",
        checks: "Whether the logs of running containers contain the error of NVML for devices that the container may \
no longer open.",
        reason: "If the container runtime does not know the device files of a container, `systemctl daemon-reload` or \
a change of the container's resources removes its permission to open them. The GPUs work, but the container does not \
reach them any more.",
        remedy: "Delete the pod, so that its controller recreates it. To prevent it, let the device plugin use CDI, \
or set `PASS_DEVICE_SPECS=true` in its DaemonSet, so that the container runtime knows the device files.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "1"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/ml/train-0/main.log
step 812
Failed to initialize NVML: Unknown Error
"#,
        correction: Correction::Replace("Failed to initialize NVML: Unknown Error", "step 813"),
    },
    layer: Layer::Run,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// The text of NVML.
///
/// Source: NVIDIA/nvidia-container-toolkit issue 48, 2026-11-28.
const TEXT: &str = "Failed to initialize NVML: Unknown Error";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        for pod in ctx.pods_on(node.name()) {
            if !is_active(pod) || pod.status.phase != "Running" {
                continue;
            }
            let evidence = find_line(ctx, pod, |line| line.contains(TEXT));
            let Some(evidence) = evidence.filter(|_| uses_gpus(pod)) else {
                continue;
            };
            let message =
                "the container has lost its GPUs: it may not open their device files any more";
            findings.push(
                Finding::new(&CHECK.code, pod_ref(pod), message)
                    .evidence(evidence)
                    .depends_on([ObjectRef::node(node.name())])
                    .help("delete the pod, so that its controller recreates it, and let the device plugin use CDI")
                    .command(logs_command(pod)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn ended_pods_and_logs_before_a_restart_do_not_count() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        for (from, to) in [
            ("phase: Running", "phase: Failed"),
            ("/main.log", "/main.previous.log"),
            ("Unknown Error", "Driver Not Loaded"),
        ] {
            let (codes, text) = codes(&objects.replace(from, to));
            assert!(codes.is_empty(), "{text}");
        }
    }
}
