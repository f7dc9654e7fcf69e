//! A pod asks for more than a node of any pool has.

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Rule, Scene};
use crate::placement::{Reason, Why};

/// A pod asks for more than a node of any pool has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4008",
        name: "manifest-request-too-large",
        severity: Severity::Error,
        summary: "a pod asks for more than a node of any pool has",
        explain: "### What it checks

Whether a node of some pool has as many GPUs, cores and as much memory and disk (`ephemeral-storage`) as a
pod asks for. The disk is the one that holds what containers write, where gpuc makes it: `diskGiB`, or the
local disks of the machine. A pod that
asks for no GPU and tolerates no taint runs on the pools without taints alone.

### Why it matters

A pod runs on one node. One that asks for more than the largest has waits for ever, and no
autoscaler adds a node for it.

### What to do

Ask for less, and run several pods: a job of several nodes has a pod on each.
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
      resources: {limits: {nvidia.com/gpu: 2}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for unplaced in scene
        .unplaced
        .iter()
        .filter(|it| it.cause == Cause::TooMany)
    {
        let pod = &scene.pods[unplaced.pod];
        let is_size = |reason: &&Reason| {
            let why = &reason.why;
            matches!(why, Why::TooMany { .. }) || why.is_size()
        };
        let is_count = |reason: &&Reason| matches!(reason.why, Why::TooMany { .. });
        let reasons = unplaced.verdicts.iter().filter_map(|verdict| {
            let count = against(verdict).find(is_count);
            let reason = count.or_else(|| against(verdict).find(is_size))?;
            Some((verdict.pool, reason))
        });
        let reasons: Vec<_> = reasons.collect();
        // The devices are what the pod is for, and CPUs what small pools lack.
        let count = reasons.iter().find(|(_, reason)| is_count(reason));
        let Some((_, first)) = count.or(reasons.first()) else {
            continue;
        };
        let is_any = unplaced.verdicts.len() == scene.cluster.pools.len();
        let of = if is_any {
            "a node of any pool has"
        } else {
            "a node without taints has"
        };
        let message = format!("{} asks for more than {of}", pod.title());
        // What the pod does not say, the cluster's file may give it.
        let is_here = first.asked.source == pod.spec.span().source;
        let is_said = first.asked.is_written() && is_here;
        let span = if is_said {
            first.asked
        } else {
            unplaced.span(&scene.pods)
        };
        let mut draft = report.draft(&RULE.code, span, message);
        if !is_said {
            let why = "a container of the team is given so much that says nothing";
            draft = draft.label(first.asked, why);
        }
        for (pool, reason) in &reasons {
            draft = draft.label(reason.place, format!("pool `{}` {reason}", pool.name));
        }
        let help = if is_any {
            "ask for less, and run a pod on each of several nodes"
        } else {
            "ask for less, or add a pool of larger machines without taints"
        };
        draft.help(help).emit();
    }
}
