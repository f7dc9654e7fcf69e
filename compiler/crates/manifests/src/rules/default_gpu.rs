//! A LimitRange gives every container GPUs.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::resources::is_gpu_name;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4100",
        name: "manifest-default-gpu",
        severity: Severity::Warning,
        summary: "a LimitRange gives every container GPUs",
        checks: "Whether `default` or `defaultRequest` of a LimitRange contains GPUs.",
        reason: "Every container in the namespace that requests no GPU gets one, also init containers, sidecars and programs without
CUDA. The GPUs are then used up.",
        remedy: "Remove the GPUs from `default` and `defaultRequest`. A limit for GPUs belongs in `max`, or in the quota of the team.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: research}
spec:
  limits:
    - type: Container
      default: {nvidia.com/gpu: 1}
"#,
        correction: Correction::Replace(
            "default: {nvidia.com/gpu: 1}",
            "max: {nvidia.com/gpu: 1}",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let ranges = ctx.objects.iter().filter(|it| it.kind == "LimitRange");
    for range in ranges {
        let limits = range.root.get("spec").and_then(|it| it.get("limits"));
        for item in limits.map_or(&[][..], Node::items) {
            // Another rule reports defaults that differ.
            if has_different_defaults(item) {
                continue;
            }
            for list in ["default", "defaultRequest"] {
                let entries = item.get(list).map_or(&[][..], Node::entries).iter();
                let is_given = |value: &Node| value.text().is_some_and(|text| text != "0");
                let mut gpus =
                    entries.filter(|entry| is_gpu_name(&entry.key) && is_given(&entry.value));
                let Some(entry) = gpus.next() else {
                    continue;
                };
                let message = format!(
                    "{} gives every container `{}` that requests none",
                    range.title(),
                    entry.key
                );
                report
                    .diagnostic(&RULE.code, entry.key_span, message)
                    .primary_label("also init containers and sidecars")
                    .help(format!("remove it from `{list}`"))
                    .emit();
            }
        }
    }
}

fn has_different_defaults(item: &Node) -> bool {
    let amount = |list: &str, key: &str| item.get(list)?.get(key)?.text();
    let entries = item.get("default").map_or(&[][..], Node::entries).iter();
    let mut gpus = entries.filter(|entry| is_gpu_name(&entry.key));
    gpus.any(|entry| {
        let request = amount("defaultRequest", &entry.key);
        request.is_some_and(|request| entry.value.text() != Some(request))
    })
}
