//! A container asks for several MIG slices.

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::{Amount, amount, offered};
use crate::manifests::{Pod, Rule, Scene};

/// A container asks for several MIG slices.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4087",
        name: "manifest-slices-several",
        severity: Severity::Warning,
        summary: "a container asks for several MIG slices, of which a process uses one",
        explain: "### What it checks

Whether a container asks for more than one slice of a name that a pool offers (`nvidia.com/mig-…`). Pods of
DaemonSets are left out. The policy `gpuc-gpu-slices` of `admission` warns of the same.

### Why it matters

CUDA shows a process one MIG slice, whatever the container has, and slices cannot reach each other: the
others stand idle unless the container starts a process for each, with `CUDA_VISIBLE_DEVICES` of its own.

### What to do

Ask for one slice that is larger, or run a container for each. Where the container starts several processes
by itself, name the finding in `allow`, or in the object's annotation `gpuc.dev/allow`.
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
    gpu: {model: A30, perNode: 1}
    hosts: [node-2]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: infer, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: infer
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/mig-1g.6gb: 2}}
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
    gpu: {model: A30, perNode: 1}
    hosts: [node-2]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: infer, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: infer
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/mig-1g.6gb: 1}}
"#,
    },
    run,
};

/// What the names of slices begin with, where slices of several sizes have names of their own.
const SLICE: &str = "nvidia.com/mig-";

/// Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory).
fn run(scene: &Scene<'_>, report: &mut Report) {
    let names = offered(scene.cluster);
    for pod in scene.pods.iter().filter(|pod| !pod.is_of_nodes()) {
        of_pod(scene, pod, &names, report);
    }
}

fn of_pod(scene: &Scene<'_>, pod: &Pod<'_>, names: &[&str], report: &mut Report) {
    for container in &pod.containers {
        for entry in container.asks().filter(|it| it.key.starts_with(SLICE)) {
            let name = entry.key.as_str();
            let Amount::Whole(count @ 2..) = amount(&entry.value) else {
                continue;
            };
            if !names.contains(&name) {
                continue;
            }
            let message = format!(
                "{} asks for {count} of `{name}` in `{}`, of which a process uses one",
                pod.title(),
                container.name()
            );
            let draft = report.draft(&RULE.code, entry.value.span(), message);
            let offering = scene.offering(name);
            let draft = match offering.first() {
                Some(pool) => {
                    draft.label(pool.name.span, format!("pool `{}` offers it", pool.name))
                }
                None => draft,
            };
            draft
                .here("slices cannot reach each other")
                .help("ask for one slice that is larger, or run a container for each")
                .emit();
        }
    }
}
