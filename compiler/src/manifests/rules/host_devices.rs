//! A pod takes GPUs from the host.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};

/// A pod takes GPUs from the host.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4020",
        name: "manifest-host-devices",
        severity: Severity::Warning,
        summary: "a pod takes GPUs from the host",
        explain: "### What it checks

Whether a pod mounts `/dev/nvidia…` of the host. DaemonSets, which serve nodes, may.

### Why it matters

The device plugin does not know of it: the pod uses GPUs that were given to others. Without being
privileged it may not open them at all.

### What to do

Ask for GPUs in `resources.limits`, and remove the volume.
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
  volumes: [{name: gpu, hostPath: {path: /dev/nvidia0}}]
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
    for pod in scene.pods.iter().filter(|pod| !pod.is_of_nodes()) {
        for (node, path) in pod
            .host_paths()
            .filter(|(_, path)| path.starts_with("/dev/nvidia"))
        {
            let message = format!("{} mounts `{path}` of the host", pod.title());
            let draft = report.draft(&RULE.code, node.span(), message);
            let draft = draft.here("the device plugin does not know of it");
            draft
                .help("ask for GPUs in `resources.limits`, and remove the volume")
                .emit();
        }
    }
}
