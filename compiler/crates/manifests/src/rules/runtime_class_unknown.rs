//! A pod names an unknown RuntimeClass.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4062",
        name: "manifest-runtime-class-unknown",
        severity: Severity::Warning,
        summary: "a pod names an unknown RuntimeClass",
        checks: "Whether the RuntimeClass that a pod names in `runtimeClassName` exists in a cluster that gpuc creates.
It must be in the tree that gpuc generates, installed by the GPU Operator, or among the manifests.",
        reason: "The API server rejects a pod with an unknown RuntimeClass; its Deployment or Job never gets a pod.",
        remedy: "Remove `runtimeClassName` if nodes use NVIDIA's runtime by default, or pass the RuntimeClass together with
the other manifests. If it is created elsewhere, write `allow: [manifest-runtime-class-unknown]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("runtimeClassName: nvidia
  ", ""),
    },
    run,
};

/// The RuntimeClasses that the GPU Operator creates.
///
/// Source: NVIDIA/gpu-operator `controllers/object_controls.go`, `RuntimeClass` (from memory).
const OPERATOR_CLASSES: &[&str] = &["nvidia", "nvidia-cdi", "nvidia-legacy"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let cluster = ctx.cluster;
    if !cluster.config.cloud.creates_cluster() {
        return;
    }
    let accesses = cluster
        .pools
        .iter()
        .filter_map(|pool| cluster.driver_access(pool));
    let classes = accesses.filter_map(|access| Some(access.runtime_class?.name));
    let mut known: BTreeSet<_> = classes.collect();
    if cluster.operator_pools().next().is_some() {
        known.extend(OPERATOR_CLASSES);
    }
    let known_classes = ctx.objects.iter();
    let known_classes = known_classes.filter(|object| object.kind == "RuntimeClass");
    known.extend(known_classes.filter_map(|object| object.name.as_deref()));
    for pod in &ctx.pods {
        let Some(node) = pod.spec.get("runtimeClassName") else {
            continue;
        };
        let name = node
            .text()
            .filter(|name| !name.is_empty() && !name.contains(['{', '$']));
        let Some(name) = name.filter(|name| !known.contains(name)) else {
            continue;
        };
        let message = format!("{}: unknown RuntimeClass `{name}`", pod.title());
        let builder = report.diagnostic(&RULE.code, node.span(), message);
        let known: Vec<_> = known.iter().copied().collect();
        let builder = match known.as_slice() {
            // Other classes may isolate pods: without them, the pod would run without its sandbox.
            _ if name != "nvidia" => builder.help(
                "check its RuntimeClass together with this file, or name the finding in `allow` if it exists",
            ),
            [] => builder.help("remove `runtimeClassName`"),
            known => builder.help(format!(
                "remove it, or write {}",
                phrases::quoted_conjunction(known, "or")
            )),
        };
        builder.emit();
    }
}
