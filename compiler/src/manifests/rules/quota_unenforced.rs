//! A `ResourceQuota` counts GPUs by a name that is never enforced.

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::is_extended;
use crate::manifests::{Rule, Scene, edit};
use crate::node::Node;

use super::resource_unknown::spelling;

/// A `ResourceQuota` counts GPUs by a name that is never enforced.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4017",
        name: "manifest-quota-unenforced",
        severity: Severity::Error,
        summary: "a ResourceQuota counts GPUs by a name that is never enforced",
        explain: "### What it checks

Whether a ResourceQuota names an extended resource as `limits.nvidia.com/gpu` or as bare
`nvidia.com/gpu`.

### Why it matters

For extended resources Kubernetes counts `requests.` alone. The API server accepts the other names,
and every pod with them.

### What to do

Write `requests.` before the resource; `gpuc check --fix` does.
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
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard:
    limits.nvidia.com/gpu: 2
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
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard:
    requests.nvidia.com/gpu: 2
"#,
    },
    run,
};

// Source: kubernetes 1.36 pkg/quota/v1/evaluator/core/pods.go, `isExtendedResourceNameForQuota`.
fn run(scene: &Scene<'_>, report: &mut Report) {
    for (object, entry) in scene.quotas() {
        let resource = entry.key.strip_prefix("limits.").unwrap_or(&entry.key);
        let is_of_claims = resource.ends_with(".deviceclass.resource.k8s.io/devices");
        // Counts of objects, and of storage by its class, have names of the same form.
        let is_count = resource.starts_with("count/") || resource.contains(".storageclass.");
        if !is_extended(resource) || is_of_claims || is_count {
            continue;
        }
        // Another rule says what is wrong with a name; the right one is written at once.
        let counted = spelling(scene, resource).unwrap_or(resource);
        let counted = format!("requests.{counted}");
        let message = format!("{} limits nothing by `{}`", object.title(), entry.key);
        let draft = report.draft(&RULE.code, entry.key_span, message);
        let draft = draft.here("accepted and never enforced");
        let offering = scene.offering(resource);
        let draft = match offering.first() {
            Some(pool) => draft.label(pool.name.span, format!("pool `{}` offers it", pool.name)),
            None => draft,
        };
        let draft = draft.help(format!("write `{counted}`"));
        let hard = object.root.get("spec").and_then(|spec| spec.get("hard"));
        let is_there = hard
            .map_or(&[][..], Node::entries)
            .iter()
            .any(|it| it.key == counted);
        let edit = edit::key(scene.sources, entry, &counted).filter(|_| !is_there);
        match edit {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}
