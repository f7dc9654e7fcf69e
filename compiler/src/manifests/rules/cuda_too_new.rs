//! An image has a CUDA that the driver does not run.

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Rule, Scene};
use crate::placement::Why;

/// An image has a CUDA that the driver does not run.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4014",
        name: "manifest-cuda-too-new",
        severity: Severity::Error,
        summary: "an image has a CUDA that the driver does not run",
        explain: "### What it checks

Whether the driver of a pool that would hold a pod runs the CUDA that the image's name says is in
it, and whether that CUDA still drives the card.

### Why it matters

The pod starts and its programs fail: `CUDA driver version is insufficient for CUDA runtime
version`.

### What to do

Take an image with an older CUDA, or give the pool a later driver.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      image: registry.example.com/train:2.0-cu124
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for unplaced in &scene.unplaced {
        let Cause::Cuda(index) = unplaced.cause else {
            continue;
        };
        let verdict = &unplaced.verdicts[index];
        let Some(reason) = against(verdict).next() else {
            continue;
        };
        let pod = &scene.pods[unplaced.pod];
        let message = format!("{} has a CUDA that does not run on any pool", pod.title());
        let help = match &reason.why {
            Why::Driver { needed, .. } => format!(
                "take an image with an older CUDA, or write `driverVersion: \"{needed}\"` or later for pool `{}`",
                verdict.pool.name
            ),
            _ => "take an image with an older CUDA".to_owned(),
        };
        let draft = report.draft(&RULE.code, reason.asked, message);
        draft
            .label(
                reason.place,
                format!("pool `{}` {reason}", verdict.pool.name),
            )
            .help(help)
            .emit();
    }
}
