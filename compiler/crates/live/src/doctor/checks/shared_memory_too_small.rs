//! A container runs out of shared memory.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, logs_command, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7803",
        name: "shared-memory-too-small",
        severity: Severity::Error,
        summary: "a container runs out of shared memory",
        checks: "Whether the logs of pods contain bus errors for lack of shared memory.",
        reason: "Containers have 64 MiB of shared memory. PyTorch's data loaders and NCCL need more, and a program \
that exceeds it is killed.",
        remedy: "Mount an `emptyDir` with `medium: Memory` at `/dev/shm`. For workloads of gpuc, set `sharedMemory`.",
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
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "8"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "False"}]}
--- # logs/ml/train-0/main.previous.log
RuntimeError: DataLoader worker (pid 61) is killed by signal: Bus error. It is possible that it is out of shared memory.
"#,
        correction: Correction::Replace(
            "RuntimeError: DataLoader worker (pid 61) is killed by signal: Bus error. It is possible that it is out of \
shared memory.",
            "epoch 1",
        ),
    },
    layer: Layer::Run,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// Whether a line is about a bus error for lack of shared memory.
///
/// Source: pytorch/pytorch `torch/utils/data/_utils/signal_handling.py` and `torch/csrc/DataLoader.cpp`, 2026-11-28.
fn is_bus_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.contains("bus error") && (line.contains("shared memory") || line.contains("(shm)"))
}

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        if pod.spec.node_name.is_empty() || !is_active(pod) {
            continue;
        }
        let Some(evidence) = find_line(ctx, pod, is_bus_error) else {
            continue;
        };
        let (message, help) = match memory_volume(pod) {
            None => (
                "the container runs out of shared memory: it has no volume in memory".to_owned(),
                "mount an `emptyDir` with `medium: Memory` at `/dev/shm` of the container",
            ),
            Some(size) => (
                format!("the container runs out of shared memory: its volume in memory has {size}"),
                "raise the size of the volume, and check that it is mounted at `/dev/shm` of the container",
            ),
        };
        findings.push(
            Finding::new(&CHECK.code, pod_ref(pod), message)
                .evidence(evidence)
                .help(help)
                .command(logs_command(pod)),
        );
    }
}

/// The size of the pod's volume in memory, if it has one.
fn memory_volume(pod: &Pod) -> Option<String> {
    let mut volumes = pod.spec.volumes.iter();
    let volume = volumes.find(|it| it["emptyDir"]["medium"] == "Memory")?;
    let size = volume["emptyDir"]["sizeLimit"].as_str();
    Some(size.map_or("no size".to_owned(), |size| format!("the size `{size}`")))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn a_volume_in_memory_can_be_too_small() {
        let volume = "nodeName: gpu-1
      volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]";
        let (codes, text) = check("nodeName: gpu-1", volume);
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("the size `1Gi`"), "{text}");
    }

    #[test]
    fn containers_that_recovered_and_other_bus_errors_do_not_count() {
        for (from, to) in [
            (
                r#"{type: Ready, status: "False"}"#,
                r#"{type: Ready, status: "True"}"#,
            ),
            ("shared memory.", "luck."),
            ("phase: Running", "phase: Failed"),
        ] {
            let (codes, text) = check(from, to);
            assert!(codes.is_empty(), "{text}");
        }
    }
}
