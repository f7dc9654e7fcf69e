//! A privileged container requests GPUs.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::pod_security_violated;
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4021",
        name: "manifest-privileged",
        severity: Severity::Warning,
        summary: "a privileged container requests GPUs",
        checks: "Whether a container that requests GPUs is privileged.",
        reason: "A privileged container has access to every device of its node, including the GPUs of other pods, whatever it
requests.",
        remedy: "Remove `privileged: true`; the device plugin gives a container access to its GPUs. For InfiniBand, add the
capability `IPC_LOCK`. A team with `podSecurity: baseline` cannot add it, and needs nodes whose container
runtime allows all containers to lock memory.",
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
      securityContext: {privileged: true}
"#,
        correction: Correction::Replace("      securityContext: {privileged: true}
", ""),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    // Pods that the namespace rejects are reported by `pod_security_violated`.
    let pods = ctx.pods.iter();
    let pods = pods.filter(|pod| pod_security_violated::enforced_level(ctx, pod).is_none());
    for container in pods.flat_map(Pod::gpu_containers) {
        let Some(node) = container.privileged_field() else {
            continue;
        };
        let message = format!(
            "container `{}` requests GPUs and is privileged",
            container.name()
        );
        let builder = report.diagnostic(&RULE.code, node.span(), message);
        let builder = builder.primary_label("gives access to every GPU of the node");
        let builder = match container.gpu_request() {
            Some(gpus) => builder.label(gpus.key_span, "requested GPUs"),
            None => builder,
        };
        builder.help("remove `privileged: true`").emit();
    }
}
