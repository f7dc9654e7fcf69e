//! No pool fits a pod.

use gpuc_model::scheduling::explain_pool;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4009",
        name: "manifest-no-matching-pool",
        severity: Severity::Error,
        summary: "no pool fits a pod",
        checks: "Whether some pool meets all requirements of a pod at once: the resource, its quantity, CPU and memory, the
selected labels and the tolerated taints.",
        reason: "Different pools meet different requirements, but a pod runs on one node. It stays Pending indefinitely.",
        remedy: "The finding lists the obstacles for each pool. Change the requirement that the closest pool does not meet.",
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
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {gpuc.dev/pool: cpu}
"#,
        correction: Correction::Replace("gpuc.dev/pool: cpu", "gpuc.dev/pool: gpu"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in ctx
        .unschedulable
        .iter()
        .filter(|it| it.cause == UnschedulableCause::Mixed)
    {
        let pod = &ctx.pods[unplaced.pod];
        let message = format!("no pool fits {}", pod.title());
        let mut builder = report.diagnostic(&RULE.code, unplaced.span(&ctx.pods), message);
        for evaluation in &unplaced.evaluations {
            if let Some(line) = explain_pool(evaluation) {
                builder = builder.label(evaluation.pool.name.span, line);
            }
        }
        let closest = unplaced.closest_pool();
        let obstacle = closest.and_then(|it| Some((it.pool, obstacles(it).next()?)));
        let builder = match obstacle {
            Some((pool, reason)) if reason.request_span.is_written() => builder
                .label(
                    reason.request_span,
                    format!("pool `{}` {reason}", pool.name),
                )
                .help(format!(
                    "change this to run in pool `{}`, which is the closest match",
                    pool.name
                )),
            Some((pool, _)) => builder.help(format!(
                "adapt the pod to pool `{}`, which is the closest match",
                pool.name
            )),
            None => builder.help("add a pool that meets the requirements of the pod"),
        };
        builder.emit();
    }
}
