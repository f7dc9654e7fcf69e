//! A program has no code for the GPU of its node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, logs_command, pod_ref, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7807",
        name: "gpu-too-new-for-image",
        severity: Severity::Error,
        summary: "an image has no code for the GPU of its node",
        checks: "Whether the log of a pod says that a program, PyTorch or vLLM, was not built for the GPU of the node.",
        reason: "A CUDA program contains machine code for some generations of GPUs (`sm_90`, `sm_100`). A program that \
is older than the GPU fails at its first kernel, although the driver and `nvidia-smi` work.",
        remedy: "Use a newer version of the image that supports the compute capability of the GPU.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {nvidia.com/gpu.product: NVIDIA-B200, nvidia.com/gpu.compute.major: "10", nvidia.com/gpu.compute.minor: "0"}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: serve-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: "vllm:0.6", resources: {limits: {nvidia.com/gpu: "1"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "False"}]}
--- # logs/ml/serve-0/main.log
RuntimeError: CUDA error: no kernel image is available for execution on the device
"#,
        correction: Correction::Replace(
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "INFO: Application startup complete.",
        ),
    },
    layer: Layer::Run,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// Texts of programs without code for a GPU.
///
/// Source: NVIDIA's CUDA runtime (`cudaErrorNoKernelImageForDevice`); pytorch/pytorch `torch/cuda/__init__.py`
/// (`incompatible_device_warn`), from memory; vllm-project/vllm issue 19906, 2026-11-28.
const LOG_TEXTS: &[&str] = &[
    "no kernel image is available for execution on the device",
    "is not compatible with the current PyTorch installation",
];

/// The labels with the compute capability and the model.
const LABELS: &[&str] = &[
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.compute.major",
    "nvidia.com/gpu.compute.minor",
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        if pod.spec.node_name.is_empty() || !is_active(pod) || !uses_gpus(pod) {
            continue;
        }
        let is_known = |line: &str| LOG_TEXTS.iter().any(|text| line.contains(text));
        let Some(evidence) = find_line(ctx, pod, is_known) else {
            continue;
        };
        let message = "the program in the image has no code for the GPU of the node";
        let mut finding = Finding::new(&CHECK.code, pod_ref(pod), message).evidence(evidence);
        let node = ctx.node(&pod.spec.node_name);
        for key in LABELS {
            if let Some(value) = node.and_then(|it| it.node.metadata.label(key)) {
                let object = ObjectRef::node(&pod.spec.node_name);
                finding = finding.field(object, &format!("metadata.labels[\"{key}\"]"), value);
            }
        }
        findings.push(
            finding
                .input(node.and_then(NodeFacts::pool_span))
                .help("use an image that was built for the compute capability of the GPU, or nodes with an older GPU")
                .command(logs_command(pod)),
        );
    }
}
