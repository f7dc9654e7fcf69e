//! A resource name is not valid in Kubernetes.

use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity, phrases};

use crate::corrections::spelling_applicability;
use crate::resources::{advertised_resources, is_gpu_name};
use crate::{CheckContext, Container, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4032",
        name: "manifest-resource-malformed",
        severity: Severity::Error,
        summary: "a resource name is not valid in Kubernetes",
        checks: "Whether each resource that a container requests is a built-in one (`cpu`, `memory`, `ephemeral-storage`,
`hugepages-…`), or has the domain of its vendor before a slash.",
        reason: "The API server rejects the pod: `must be a standard resource type or fully qualified`.",
        remedy: "Write a resource that the pools advertise. If they have full GPUs, `gpuc check --fix --unsafe-fixes`
fixes `gpu` and similar names.",
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
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {gpu: 1}}
"#,
        correction: Correction::Replace("limits: {gpu:", "limits: {nvidia.com/gpu:"),
    },
    run,
};

/// Built-in resources of containers.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `standardContainerResources` (from memory).
const STANDARD_RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Common names of GPUs without a domain.
const COMMON_GPU_NAMES: &[&str] = &["gpu", "gpus", "nvidia-gpu", "nvidia.com-gpu", "nvidia_gpu"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            for entry in container.requested_resources() {
                let name = entry.key.as_str();
                let is_built_in =
                    STANDARD_RESOURCES.contains(&name) || name.starts_with("hugepages-");
                if is_built_in || name.contains(['/', '{', '$']) {
                    continue;
                }
                let message = format!("{}: unknown resource `{name}`", pod.title());
                let builder = report.diagnostic(&RULE.code, entry.key_span, message);
                let is_gpus = COMMON_GPU_NAMES.contains(&name.to_ascii_lowercase().as_str());
                let gpus = advertised_resources(ctx.cluster);
                let gpus: Vec<_> = gpus.into_iter().filter(|name| is_gpu_name(name)).collect();
                let full = gpus.iter().find(|name| **name == "nvidia.com/gpu");
                let closest = phrases::closest_match(name, STANDARD_RESOURCES.iter().copied());
                let (meant, help) = match (full.filter(|_| is_gpus), closest) {
                    (Some(full), _) => (Some(*full), format!("write `{full}`")),
                    (None, Some(closest)) => (Some(closest), format!("write `{closest}`")),
                    (None, None) if is_gpus && !gpus.is_empty() => (
                        None,
                        format!("write {}", phrases::quoted_conjunction(&gpus, "or")),
                    ),
                    (None, None) => (
                        None,
                        "write the domain of the vendor and a slash before the name".to_owned(),
                    ),
                };
                let builder = builder.help(help);
                let edits = meant.and_then(|meant| {
                    let edits = rename_edit(ctx, container, name, meant)?;
                    Some((spelling_applicability(name, meant), edits))
                });
                match edits {
                    Some((applicability, edits)) => builder.fix_as(applicability, edits).emit(),
                    None => builder.emit(),
                };
            }
        }
    }
}

/// Replaces the name everywhere in the container; `None` if the container already has the correct one.
fn rename_edit(
    ctx: &CheckContext<'_>,
    container: &Container<'_>,
    name: &str,
    meant: &str,
) -> Option<Vec<Edit>> {
    let lists = ["limits", "requests"].map(|list| container.resource_list(list));
    if lists
        .iter()
        .any(|list| list.iter().any(|it| it.key == meant))
    {
        return None;
    }
    let entries = lists.into_iter().flatten().filter(|it| it.key == name);
    entries
        .map(|entry| text_edit::rename_key(ctx.sources, entry, meant))
        .collect()
}
