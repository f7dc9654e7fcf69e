//! A pod names a runtime class that nobody makes.

use std::collections::BTreeSet;

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::{Rule, Scene};

/// A pod names a runtime class that nobody makes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4062",
        name: "manifest-runtime-class-unknown",
        severity: Severity::Warning,
        summary: "a pod names a RuntimeClass that nobody makes",
        explain: "### What it checks

The `runtimeClassName` of pods on a cluster that gpuc makes: whether gpuc's tree, the GPU Operator or a
manifest beside it brings a RuntimeClass of that name.

### Why it matters

The API server refuses a pod whose RuntimeClass is not there; its Deployment or Job stays empty.

### What to do

Remove it where nodes run containers with NVIDIA's runtime anyway, or give the RuntimeClass along with
the other manifests. If somebody else makes it, write `allow: [manifest-runtime-class-unknown]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 2}}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  runtimeClassName: nvidia
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 2}}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// What the GPU Operator makes.
///
/// Source: NVIDIA/gpu-operator `controllers/object_controls.go`, `RuntimeClass` (from memory).
const OF_OPERATOR: &[&str] = &["nvidia", "nvidia-cdi", "nvidia-legacy"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    let cluster = scene.cluster;
    if !cluster.written.cloud.creates_cluster() {
        return;
    }
    let accesses = cluster.pools.iter().filter_map(|pool| cluster.access(pool));
    let classes = accesses.filter_map(|access| Some(access.runtime_class?.name));
    let mut there: BTreeSet<_> = classes.collect();
    if cluster.operator_pools().next().is_some() {
        there.extend(OF_OPERATOR);
    }
    let given = scene.objects.iter();
    let given = given.filter(|object| object.kind == "RuntimeClass");
    there.extend(given.filter_map(|object| object.name.as_deref()));
    for pod in &scene.pods {
        let Some(node) = pod.spec.get("runtimeClassName") else {
            continue;
        };
        let name = node
            .text()
            .filter(|name| !name.is_empty() && !name.contains(['{', '$']));
        let Some(name) = name.filter(|name| !there.contains(name)) else {
            continue;
        };
        let message = format!(
            "{} names the RuntimeClass `{name}`, which nobody makes",
            pod.title()
        );
        let draft = report.draft(&RULE.code, node.span(), message);
        let known: Vec<_> = there.iter().copied().collect();
        let draft = match known.as_slice() {
            [] => draft.help("remove `runtimeClassName`"),
            known => draft.help(format!("remove it, or write {}", words::all(known, "or"))),
        };
        draft.emit();
    }
}
