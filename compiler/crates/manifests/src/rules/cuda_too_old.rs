//! The CUDA version of an image is older than the GPU models.

use gpuc_model::scheduling::{Cuda, Feasibility, cuda_version};
use gpuc_model::{Pool, PoolGpus};
use gpuc_schema::gpu::cuda::first_cuda_for;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::scheduling::evaluate_pools;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4094",
        name: "manifest-cuda-too-old",
        severity: Severity::Warning,
        summary: "the CUDA version of an image does not support the GPU models of the pools",
        checks: "Whether the CUDA version in an image name has code for the GPU models of the pools that fit the pod. Compute
capability 8 needs CUDA 11.0, compute capability 9 needs 11.8, and 10 and 12 need 12.8.",
        reason: "A program without code for the GPU model fails: `no kernel image is available for execution on the device`.
Only programs that contain PTX still run, because the driver compiles PTX at startup; most framework images
contain no suitable PTX.",
        remedy: "Use an image with a newer CUDA version. If the program contains PTX, allow the finding.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: H100-NVL, perNode: 2}
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
      image: pytorch/pytorch:1.9.0-cuda10.2-cudnn7-runtime
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("pytorch/pytorch:1.9.0-cuda10.2-cudnn7-runtime", "pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in pod.gpu_containers() {
            let image = container.image();
            let cuda = image.and_then(Node::text).and_then(cuda_version);
            let (Some(image), Some(cuda)) = (image, cuda) else {
                continue;
            };
            let Some((_, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
                continue;
            };
            let pools = evaluations
                .iter()
                .filter(|it| it.feasibility() != Feasibility::DoesNotFit);
            let required: Option<Vec<_>> = pools.map(|it| required_cuda(it.pool, cuda)).collect();
            let Some(required) = required else {
                continue;
            };
            let Some((pool, gpus, (major, minor))) = required.first() else {
                continue;
            };
            let message = format!(
                "CUDA {cuda} does not support `{}` (compute capability {})",
                gpus.model.key, gpus.model.compute_capability
            );
            let builder = report.diagnostic(&RULE.code, image.span(), message);
            let builder = builder.label(gpus.span, format!("pool `{}` has these GPUs", pool.name));
            builder
                .help(format!(
                    "use an image with CUDA {major}.{minor} or later, unless the program contains PTX"
                ))
                .emit();
        }
    }
}

/// The pool, its GPUs and the first CUDA version that supports them, if that is later than `cuda`.
fn required_cuda(pool: &Pool, cuda: Cuda) -> Option<(&Pool, &PoolGpus, (u8, u8))> {
    let gpus = pool.gpus.get()?.as_ref()?;
    let first = first_cuda_for(gpus.model.compute_capability)?;
    let image_cuda = (cuda.major, cuda.minor?);
    (image_cuda < first).then_some((pool, gpus, first))
}
