//! A Job does not have all of its pods at once.

use super::gang_too_large;
use super::quota_exceeded::{self, Kind};
use super::quota_refuses;
use crate::diag::{Code, Report, Severity};
use crate::manifests::gangs::loads;
use crate::manifests::{Rule, Scene};

/// What to do about it.
pub(super) const HELP: &str = "write a smaller `parallelism`, or give the team more";

/// A Job does not have all of its pods at once.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4080",
        name: "manifest-job-over-quota",
        severity: Severity::Warning,
        summary: "a Job does not have all of its pods at once",
        explain: "### What it checks

Whether a Job, a CronJob or a JobSet that waits in no queue asks for more GPUs, CPU, memory or pods at
once than its team may have, or than a ResourceQuota among the manifests lets in, and a JobSet for more
than its pools have.

### Why it matters

The API server refuses the pods that are too many, and Kubernetes tries again when others are done. The
job ends where each pod works for itself. Where pods wait for each other, as in training, none of them
goes on, and those that are there keep their GPUs.

### What to do

Write a smaller `parallelism`, or give the team a larger quota. Where pods may come one after the other,
name the finding in `allow`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
  parallelism: 2
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
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    quota_exceeded::look(scene, Kind::InTurn, report);
    quota_refuses::look(scene, Kind::InTurn, report);
    for load in loads(scene, false) {
        gang_too_large::look(scene, load, &RULE.code, report);
    }
}
