//! A container asks for no GPU and may see all of a node.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};
use crate::node::Node;

/// A container asks for no GPU and may see all of a node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4012",
        name: "manifest-sees-all-gpus",
        severity: Severity::Warning,
        summary: "a container asks for no GPU and may see all of a node",
        explain: "### What it checks

Whether a container that asks for no GPU sets `NVIDIA_VISIBLE_DEVICES` to GPUs, or runs in a pod
without any GPU with the runtime class `nvidia`. DaemonSets, which measure and serve all GPUs of a
node, may.

### Why it matters

NVIDIA's container runtime gives such a container every GPU of the node, those of other pods too:
they share memory and time with it, and nobody counts it.

### What to do

Ask for GPUs in `resources.limits`, and remove the variable: the device plugin says which GPUs the
container has.
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
      env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let pods = scene.pods.iter();
    for pod in pods.filter(|pod| !pod.is_of_nodes() && !pod.is_open) {
        let mut is_said = false;
        for container in &pod.containers {
            let Some(value) = container.env("NVIDIA_VISIBLE_DEVICES") else {
                continue;
            };
            let text = value.text().unwrap_or_default();
            // What these mean to NVIDIA's runtime: no GPUs, and nothing of NVIDIA's at all.
            let means_none = ["", "none", "void"].contains(&text);
            let claims = container
                .resources()
                .is_some_and(|it| it.value.get("claims").is_some());
            if means_none || container.gpus().is_some() || claims {
                continue;
            }
            is_said = true;
            let message = format!(
                "container `{}` asks for no GPU and sets `NVIDIA_VISIBLE_DEVICES` to `{text}`",
                container.name()
            );
            let draft = report.draft(&RULE.code, value.span(), message);
            let draft = draft.here("it would see GPUs of other pods");
            draft
                .help("ask for GPUs in `resources.limits`, and remove the variable")
                .emit();
        }
        let class = pod
            .spec
            .get("runtimeClassName")
            .filter(|class| class.text() == Some("nvidia"));
        if let Some(class) = class.filter(|_| !is_said && !pod.asks_for_gpus() && !says_none(pod)) {
            let message = format!(
                "{} has the runtime class of GPUs and asks for none",
                pod.title()
            );
            let draft = report.draft(&RULE.code, class.span(), message);
            let draft = draft.here("images of NVIDIA's ask this runtime for all GPUs of a node");
            draft
                .help("ask for GPUs in `resources.limits`, or remove `runtimeClassName`")
                .emit();
        }
    }
}

/// Whether every container says itself which GPUs it sees.
fn says_none(pod: &crate::manifests::Pod<'_>) -> bool {
    let says = |value: &Node| value.text().is_some();
    let mut containers = pod.containers.iter();
    containers.all(|it| it.env("NVIDIA_VISIBLE_DEVICES").is_some_and(says))
}
