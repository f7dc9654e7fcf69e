//! A container requests several replicas of a shared GPU.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4011",
        name: "manifest-multiple-replicas",
        severity: Severity::Error,
        summary: "a container requests several replicas of a shared GPU",
        checks: "Whether a container requests more than one replica from a pool with time-slicing or MPS.",
        reason: "Two replicas are not more than one: they may be of the same GPU, and containers still take turns on it.
gpuc-runtime rejects such a pod, and so does NVIDIA's device plugin if configured to do so.",
        remedy: "Request one replica, or a GPU of a pool without sharing.",
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
    sharing: {timeSlicing: {replicas: 4}}
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
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 2}}
"#,
        correction: Correction::Replace("nvidia.com/gpu: 2", "nvidia.com/gpu: 1"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in &ctx.unschedulable {
        let UnschedulableCause::SeveralReplicas(index) = unplaced.cause else {
            continue;
        };
        let evaluation = &unplaced.evaluations[index];
        let Some(reason) = obstacles(evaluation).next() else {
            continue;
        };
        let pod = &ctx.pods[unplaced.pod];
        let message = format!("{} requests several parts of a GPU at once", pod.title());
        let builder = report.diagnostic(&RULE.code, reason.request_span, message);
        builder
            .label(
                reason.pool_span,
                format!("pool `{}` {reason}", evaluation.pool.name),
            )
            .help("request one")
            .emit();
    }
}
