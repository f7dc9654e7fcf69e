//! The CUDA version of an image is not supported by the driver or the GPUs of a pool.

use gpuc_model::scheduling::MisfitCause;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4014",
        name: "manifest-cuda-too-new",
        severity: Severity::Error,
        summary: "the CUDA version of an image is not supported by the driver or the GPU model",
        checks: "Whether the driver of a pool that would otherwise fit the pod supports the CUDA version in the image name,
and whether that CUDA version still supports the GPU model.",
        reason: "The pod starts and its programs fail: `CUDA driver version is insufficient for CUDA runtime version`.",
        remedy: "Use an image with an older CUDA version, or a newer driver for the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "535"}
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
      image: registry.example.com/train:2.0-cu130
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("registry.example.com/train:2.0-cu130", "registry.example.com/train:2.0-cu124"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in &ctx.unschedulable {
        let UnschedulableCause::Cuda(index) = unplaced.cause else {
            continue;
        };
        let evaluation = &unplaced.evaluations[index];
        let Some(reason) = obstacles(evaluation).next() else {
            continue;
        };
        let pod = &ctx.pods[unplaced.pod];
        let message = format!(
            "{}: no pool supports the CUDA version of its image",
            pod.title()
        );
        let help = match &reason.cause {
            MisfitCause::Driver { min_branch, .. } => format!(
                "use an image with an older CUDA version, or set `driverVersion: \"{min_branch}\"` or later in pool `{}`",
                evaluation.pool.name
            ),
            _ => "use an image with an older CUDA version".to_owned(),
        };
        let builder = report.diagnostic(&RULE.code, reason.request_span, message);
        builder
            .label(
                reason.pool_span,
                format!("pool `{}` {reason}", evaluation.pool.name),
            )
            .help(help)
            .emit();
    }
}
