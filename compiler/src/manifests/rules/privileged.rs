//! A privileged container asks for GPUs.

use super::security_refused;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Pod, Rule, Scene};

/// A privileged container asks for GPUs.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4021",
        name: "manifest-privileged",
        severity: Severity::Warning,
        summary: "a privileged container asks for GPUs",
        explain: "### What it checks

Whether a container that asks for GPUs is privileged.

### Why it matters

A privileged container sees every device of its node, so also the GPUs of others, whatever it asked
for.

### What to do

Remove `privileged: true`; the device plugin gives a container what it needs for its GPUs. For
InfiniBand, add the capability `IPC_LOCK`; a team with `podSecurity: baseline` may not, and needs nodes
whose container runtime lets everybody lock memory.
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
      resources: {limits: {nvidia.com/gpu: 1}}
      securityContext: {privileged: true}
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
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    // Where the namespace refuses it, that is the finding.
    let pods = scene.pods.iter();
    let pods = pods.filter(|pod| security_refused::level(scene, pod).is_none());
    for container in pods.flat_map(Pod::with_gpus) {
        let Some(node) = container.is_privileged() else {
            continue;
        };
        let message = format!(
            "container `{}` asks for GPUs and is privileged",
            container.name()
        );
        let draft = report.draft(&RULE.code, node.span(), message);
        let draft = draft.here("it sees every GPU of its node");
        let draft = match container.gpus() {
            Some(gpus) => draft.label(gpus.key_span, "it asks for these"),
            None => draft,
        };
        draft.help("remove `privileged: true`").emit();
    }
}
