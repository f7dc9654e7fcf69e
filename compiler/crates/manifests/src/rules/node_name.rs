//! A pod sets the node that it runs on.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4095",
        name: "manifest-node-name-set",
        severity: Severity::Warning,
        summary: "a pod sets `nodeName` and bypasses the scheduler",
        checks: "Whether a pod sets `spec.nodeName`.",
        reason: "The pod runs on this node without the scheduler: `NoSchedule` taints do not keep it off the node, and the
node's free GPUs, CPU and memory are not checked. If they do not suffice, the pod fails. When the node is
replaced, the pod is deleted or stays pending.",
        remedy: "Select nodes by a label instead, with `nodeSelector`: the label `kubernetes.io/hostname` selects one node.",
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
  nodeName: node-2
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
"#,
        correction: Correction::Replace("  nodeName: node-2\n", ""),
    },
    run,
};

// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename, read 2026-11-26.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let pods = ctx.pods.iter();
    for pod in pods.filter(|pod| !pod.is_partial && !pod.is_of_daemon_set()) {
        let Some(node) = pod.spec.get("nodeName").filter(|it| it.text().is_some()) else {
            continue;
        };
        let message = format!("{} sets `nodeName`", pod.title());
        let builder = report.diagnostic(&RULE.code, node.span(), message);
        let builder = builder.primary_label("the scheduler checks neither taints nor free GPUs");
        builder
            .help("select nodes by a label with `nodeSelector`, such as `kubernetes.io/hostname`")
            .emit();
    }
}
