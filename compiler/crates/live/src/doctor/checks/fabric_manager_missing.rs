//! The GPUs of a node are not initialized, because no fabric manager runs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{Signature, find_signature, is_active, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7802",
        name: "fabric-manager-missing",
        severity: Severity::Error,
        summary: "the GPUs of a node are not initialized, because no fabric manager runs",
        checks: "Whether the logs of pods contain CUDA's error 802, or the errors of a fabric manager that does not \
match the driver.",
        reason: "On machines with NVSwitch, the fabric manager connects the GPUs after the driver is loaded. Without \
it, `nvidia-smi` lists the GPUs and the node offers them, but no program can use one.",
        remedy: "Install the fabric manager in the same version as the driver, and start it before the first pod. \
Driver images of the GPU Operator contain it. On B200 and later, the kernel modules `ib_umad` and `mlx5_ib` must be \
loaded as well.",
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
RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized
"#,
        correction: Correction::Replace(
            r#"status: {phase: Running, conditions: [{type: Ready, status: "False"}]}"#,
            r#"status: {phase: Running, conditions: [{type: Ready, status: "True"}]}"#,
        ),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

const NOT_READY: &str =
    "the GPUs of the node are not initialized: no fabric manager runs, or it does not end its work";
const NOT_READY_HELP: &str =
    "start the fabric manager on the node, in the same version as the driver, and read its log";

/// Lines in the logs of programs, drivers and fabric managers.
///
/// Source: NVIDIA's CUDA runtime (`cudaErrorSystemNotReady`); NVIDIA/gpu-operator issue 2781, 2026-11-28.
const SIGNATURES: &[Signature] = &[
    Signature {
        parts: &["don't match with driver version"],
        message: "the fabric manager of the node does not match the driver",
        help: "install the fabric manager in the same version as the driver",
    },
    Signature {
        parts: &["NV_WARN_NOTHING_TO_DO"],
        message: "the fabric manager of the node finds no NVSwitch",
        help: "load the kernel modules `ib_umad` and `mlx5_ib`, which are in the package of extra modules for the \
kernel, and restart the fabric manager",
    },
    Signature {
        parts: &["Error 802", "system not yet initialized"],
        message: NOT_READY,
        help: NOT_READY_HELP,
    },
    Signature {
        parts: &["CUDA_ERROR_SYSTEM_NOT_READY"],
        message: NOT_READY,
        help: NOT_READY_HELP,
    },
];

/// The seconds in which the fabric manager of a new node starts.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        if ctx.is_new(node, START_SECONDS) {
            continue;
        }
        let pods = ctx.pods_on(node.name()).iter();
        let mut active = pods.filter(|pod| is_active(pod));
        let found = active.find_map(|pod| {
            let found = find_signature(ctx, pod, SIGNATURES)?;
            uses_gpus(pod).then_some(found)
        });
        let Some((signature, evidence)) = found else {
            continue;
        };
        findings.push(
            Finding::new(&CHECK.code, node.object(), signature.message)
                .evidence(evidence)
                .input(node.pool.map(|pool| pool.driver.span))
                .help(signature.help)
                .command(format!(
                    "kubectl debug node/{} -it --image=busybox --profile=sysadmin -- \
chroot /host systemctl status nvidia-fabricmanager",
                    node.name()
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, SIGNATURES};

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn every_signature_is_found() {
        let line = "Error 802: system not yet initialized";
        for signature in SIGNATURES {
            let (codes, text) = check(line, &signature.parts.join(": "));
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains(signature.message), "{text}");
        }
    }

    #[test]
    fn logs_that_quote_other_pods_do_not_count() {
        let (codes, text) = check(", resources: {limits: {nvidia.com/gpu: \"8\"}}", "");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn ended_pods_do_not_count() {
        let (codes, text) = check("phase: Running", "phase: Failed");
        assert!(codes.is_empty(), "{text}");
    }
}
