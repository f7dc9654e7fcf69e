//! A pod requests more than a node of any pool has.

use gpuc_model::scheduling::{MisfitCause, Reason};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4008",
        name: "manifest-request-too-large",
        severity: Severity::Error,
        summary: "a pod requests more than a node of any pool has",
        checks: "Whether a node of some pool has the GPUs, CPU, memory and disk (`ephemeral-storage`) that a pod requests.
The disk is the one for the writable layers of containers, if gpuc creates it: `diskGiB`, or the local disks
of the machine. A pod that requests no GPU and tolerates no taint only fits pools without taints.",
        reason: "A pod runs on one node. A pod that exceeds the largest node stays Pending indefinitely, and no autoscaler
adds a node for it.",
        remedy: "Request less, and run several pods: a job on several nodes has a pod on each of them.",
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
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 4}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"#,
        correction: Correction::Replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in ctx
        .unschedulable
        .iter()
        .filter(|it| it.cause == UnschedulableCause::TooLarge)
    {
        let pod = &ctx.pods[unplaced.pod];
        let is_size = |reason: &&Reason| {
            let cause = &reason.cause;
            matches!(cause, MisfitCause::TooManyDevices { .. }) || cause.is_size()
        };
        let is_count =
            |reason: &&Reason| matches!(reason.cause, MisfitCause::TooManyDevices { .. });
        let reasons = unplaced.evaluations.iter().filter_map(|evaluation| {
            let count = obstacles(evaluation).find(is_count);
            let reason = count.or_else(|| obstacles(evaluation).find(is_size))?;
            Some((evaluation.pool, reason))
        });
        let reasons: Vec<_> = reasons.collect();
        // A lack of devices matters more than a lack of CPU in small pools.
        let count = reasons.iter().find(|(_, reason)| is_count(reason));
        let Some((_, first)) = count.or(reasons.first()) else {
            continue;
        };
        let is_any = unplaced.evaluations.len() == ctx.cluster.pools.len();
        let bound = if is_any {
            "a node of any pool has"
        } else {
            "any node without taints has"
        };
        let message = format!("{} requests more than {bound}", pod.title());
        // The request may be a default in the file of the cluster.
        let is_in_manifest = first.request_span.source == pod.spec.span().source;
        let is_written = first.request_span.is_written() && is_in_manifest;
        let span = if is_written {
            first.request_span
        } else {
            unplaced.span(&ctx.pods)
        };
        let mut builder = report.diagnostic(&RULE.code, span, message);
        if !is_written {
            let text = "the default for the team's containers without a request";
            builder = builder.label(first.request_span, text);
        }
        for (pool, reason) in &reasons {
            builder = builder.label(reason.pool_span, format!("pool `{}` {reason}", pool.name));
        }
        let help = if is_any {
            "request less, and run one pod on each of several nodes"
        } else {
            "request less, or add a pool of larger machines without taints"
        };
        builder.help(help).emit();
    }
}
