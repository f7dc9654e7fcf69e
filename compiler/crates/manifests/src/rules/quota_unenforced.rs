//! A ResourceQuota counts GPUs under a name that is never enforced.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::resources::is_extended_resource;
use crate::{CheckContext, Rule, text_edit};

use super::resource_unknown::corrected_resource;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4017",
        name: "manifest-quota-unenforced",
        severity: Severity::Error,
        summary: "a ResourceQuota counts GPUs under a name that is never enforced",
        checks: "Whether a ResourceQuota names an extended resource as `limits.nvidia.com/gpu` or as bare `nvidia.com/gpu`.",
        reason: "For extended resources, Kubernetes only counts names with the prefix `requests.`. The API server accepts the
other names, but they limit nothing.",
        remedy: "Write `requests.` before the resource; `gpuc check --fix --unsafe-fixes` does so.",
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
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard:
    limits.nvidia.com/gpu: 2
"#,
        correction: Correction::Replace("limits.nvidia.com/gpu:", "requests.nvidia.com/gpu:"),
    },
    run,
};

// Source: kubernetes 1.36 pkg/quota/v1/evaluator/core/pods.go, `isExtendedResourceNameForQuota`.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for (object, entry) in ctx.quota_entries() {
        let resource = entry.key.strip_prefix("limits.").unwrap_or(&entry.key);
        let is_of_claims = resource.ends_with(".deviceclass.resource.k8s.io/devices");
        // Object counts, and storage by class, have names of the same form.
        let is_count = resource.starts_with("count/") || resource.contains(".storageclass.");
        if !is_extended_resource(resource) || is_of_claims || is_count {
            continue;
        }
        // Other rules report a misspelled resource; the fix writes the correct one at once.
        let counted = corrected_resource(ctx, resource).unwrap_or(resource);
        let counted = format!("requests.{counted}");
        let message = format!("{}: `{}` is never enforced", object.title(), entry.key);
        let builder = report.diagnostic(&RULE.code, entry.key_span, message);
        let builder = builder.primary_label("accepted, but limits nothing");
        let advertising = ctx.pools_advertising(resource);
        let builder = match advertising.first() {
            Some(pool) => {
                let text = format!("pool `{}` advertises this resource", pool.name);
                builder.label(pool.name.span, text)
            }
            None => builder,
        };
        let builder = builder.help(format!("write `{counted}`"));
        let hard = object.root.get("spec").and_then(|spec| spec.get("hard"));
        let is_there = hard
            .map_or(&[][..], Node::entries)
            .iter()
            .any(|it| it.key == counted);
        let edit = text_edit::rename_key(ctx.sources, entry, &counted).filter(|_| !is_there);
        match edit {
            Some(edit) => builder.suggest(vec![edit]).emit(),
            None => builder.emit(),
        };
    }
}
