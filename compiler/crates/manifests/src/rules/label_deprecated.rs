//! A manifest selects nodes by a deprecated label.

use gpuc_model::POOL_LABEL;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::{CheckContext, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4007",
        name: "manifest-label-deprecated",
        severity: Severity::Warning,
        summary: "a manifest selects nodes by a deprecated label",
        checks: "Whether `nodeSelector` and node affinity use a label that Kubernetes has replaced, such as
`beta.kubernetes.io/arch`, or that the cloud has replaced. Whether they use `accelerator`, which appears in
tutorials but is set only by AKS.",
        reason: "Kubernetes keeps deprecated labels only for some releases, and an autoscaler may not expect them on future
nodes. Nothing sets `accelerator` automatically: a pod that requires it stays Pending indefinitely.",
        remedy: "Write the current label; `gpuc check --fix --unsafe-fixes` does so. To select a GPU model, select the pool.",
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
  nodeSelector: {beta.kubernetes.io/arch: amd64}
"#,
        correction: Correction::Replace("beta.kubernetes.io/arch:", "kubernetes.io/arch:"),
    },
    run,
};

/// Deprecated labels with their replacements.
///
/// Source: kubernetes.io/docs/reference/labels-annotations-taints (from memory).
const REPLACED_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
];

/// Labels for GPU nodes in old documentation and tutorials, which nothing sets automatically.
const UNSET_LABELS: &[&str] = &["accelerator", "hardware-type"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        let selector = pod
            .placement()
            .get("nodeSelector")
            .map_or(&[][..], Node::entries);
        for entry in selector {
            let new = replacement(ctx, &entry.key);
            let is_duplicate = new.is_some_and(|key| selector.iter().any(|it| it.key == key));
            let edit = new
                .filter(|_| !is_duplicate)
                .and_then(|key| text_edit::rename_key(ctx.sources, entry, key));
            report_label(ctx, &entry.key, entry.key_span, edit, report);
        }
        for key in affinity_keys(pod.placement()) {
            let text = key.text().unwrap_or_default();
            let new = replacement(ctx, text);
            let edit = new.and_then(|new| text_edit::replace_value(ctx.sources, key, new));
            report_label(ctx, text, key.span(), edit, report);
        }
    }
}

/// The label that replaces a deprecated one, unless a pool sets the deprecated one.
fn replacement(ctx: &CheckContext<'_>, key: &str) -> Option<&'static str> {
    let mut labels = ctx.cluster.pools.iter().flat_map(|pool| &pool.labels);
    if labels.any(|label| label.key == key) {
        return None;
    }
    let of_cloud = ctx.cluster.cloud.facts().deprecated_labels;
    let replaced = REPLACED_LABELS
        .iter()
        .chain(of_cloud)
        .find(|(old, _)| *old == key);
    replaced.map(|(_, new)| *new)
}

fn report_label(
    ctx: &CheckContext<'_>,
    key: &str,
    span: Span,
    edit: Option<gpuc_syntax::diag::Edit>,
    report: &mut Report,
) {
    let mut labels = ctx.cluster.pools.iter().flat_map(|pool| &pool.labels);
    let is_set = labels.any(|label| label.key == key);
    let new = replacement(ctx, key);
    let (message, help) = match new {
        Some(new) => (
            format!("the label `{key}` is deprecated"),
            format!("write `{new}`"),
        ),
        None if UNSET_LABELS.contains(&key) && !is_set => (
            format!("no pool has the label `{key}`"),
            format!("select a pool by the label `{POOL_LABEL}`"),
        ),
        None => return,
    };
    let builder = report.diagnostic(&RULE.code, span, message);
    let first = ctx.cluster.gpu_pools().next().filter(|_| new.is_none());
    let builder = match first {
        Some((pool, _)) => builder.label(pool.name.span, "a pool with GPUs"),
        None => builder,
    };
    let builder = builder.help(help);
    match edit {
        Some(edit) => builder.suggest(vec![edit]).emit(),
        None => builder.emit(),
    };
}

/// The keys of labels in a pod's node affinity, required and preferred.
fn affinity_keys(spec: &Node) -> Vec<&Node> {
    let affinity = spec.get("affinity").and_then(|it| it.get("nodeAffinity"));
    let get = |key: &str| affinity.and_then(|affinity| affinity.get(key));
    let required = get("requiredDuringSchedulingIgnoredDuringExecution");
    let required = required.and_then(|it| it.get("nodeSelectorTerms"));
    let required = required.map_or(&[][..], Node::items).iter();
    let preferred = get("preferredDuringSchedulingIgnoredDuringExecution");
    let preferred = preferred.map_or(&[][..], Node::items).iter();
    let preferred = preferred.filter_map(|item| item.get("preference"));
    let terms = required.chain(preferred);
    let expressions = terms.filter_map(|term| term.get("matchExpressions"));
    let expressions = expressions.flat_map(Node::items);
    expressions
        .filter_map(|expression| expression.get("key"))
        .collect()
}
