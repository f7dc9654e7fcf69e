//! A Job cannot run all of its pods at once.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::quota_exceeded::{self, Excess, ExcessKind};
use super::{gang_too_large, resource_quota_exceeded};
use crate::gang_scheduling::find_gangs;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4080",
        name: "manifest-job-over-quota",
        severity: Severity::Warning,
        summary: "a Job cannot run all of its pods at once",
        checks: "Whether a Job, a CronJob or a JobSet outside of queues requests at once more GPUs, CPU, memory or pods than
the team's quota or a ResourceQuota among the manifests allows. Whether a JobSet requests more than its
pools have.",
        reason: "The API server rejects the excess pods, and the Job controller retries when other pods finish. The job
completes if each pod works independently.

If the pods wait for each other, as in distributed training, none of them makes progress, and the running
pods keep their GPUs.",
        remedy: "Lower `parallelism`, or raise the quota of the team. If the pods may run one after the other, name the
finding in `allow`.",
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, namespace: research}
spec:
  parallelism: 3
  completions: 30
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: sweep
          image: registry.example.com/sweep:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("parallelism: 3", "parallelism: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let excess = Excess {
        kind: ExcessKind::Sequential,
        code: &RULE.code,
    };
    quota_exceeded::check(ctx, excess, report);
    resource_quota_exceeded::check(ctx, excess, report);
    for gang in find_gangs(ctx, false) {
        gang_too_large::check_gang(ctx, &gang, &RULE.code, report);
    }
}
