//! A container asks for several shares of a GPU.

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Rule, Scene};

/// A container asks for several shares of a GPU.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4011",
        name: "manifest-shares-several",
        severity: Severity::Error,
        summary: "a container asks for several shares of a GPU",
        explain: "### What it checks

Whether a container asks for more than one share where GPUs are had in shares, by time-slicing or
MPS.

### Why it matters

Two shares are no more than one: they may be of the same GPU, and containers take turns on it all
the same. gpuc-runtime refuses such a pod, and so does NVIDIA's plugin where it is told to.

### What to do

Ask for one, or for a GPU of a pool that does not share them.
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
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for unplaced in &scene.unplaced {
        let Cause::Shares(index) = unplaced.cause else {
            continue;
        };
        let verdict = &unplaced.verdicts[index];
        let Some(reason) = against(verdict).next() else {
            continue;
        };
        let pod = &scene.pods[unplaced.pod];
        let message = format!("{} asks for several parts of a GPU at once", pod.title());
        let draft = report.draft(&RULE.code, reason.asked, message);
        draft
            .label(
                reason.place,
                format!("pool `{}` {reason}", verdict.pool.name),
            )
            .help("ask for one")
            .emit();
    }
}
