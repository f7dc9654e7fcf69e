//! A pod mounts the GPU device files of its host.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4020",
        name: "manifest-host-devices",
        severity: Severity::Warning,
        summary: "a pod mounts the GPU device files of its host",
        checks: "Whether a pod mounts `/dev/nvidia…` of the host. DaemonSets may do so, because they manage nodes.",
        reason: "The device plugin does not track such a pod: it uses GPUs that are allocated to other pods. Unless the
container is privileged, it may fail to open the devices.",
        remedy: "Request GPUs in `resources.limits`, and remove the volume.",
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
  volumes: [{name: gpu, hostPath: {path: /dev/nvidia0}}]
"#,
        correction: Correction::Replace("containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
  volumes: [{name: gpu, hostPath: {path: /dev/nvidia0}}]", "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_of_daemon_set()) {
        for (node, path) in pod
            .host_paths()
            .filter(|(_, path)| path.starts_with("/dev/nvidia"))
        {
            let message = format!("{} mounts `{path}` of the host", pod.title());
            let builder = report.diagnostic(&RULE.code, node.span(), message);
            let builder = builder.primary_label("bypasses the device plugin");
            builder
                .help("request GPUs in `resources.limits`, and remove the volume")
                .emit();
        }
    }
}
