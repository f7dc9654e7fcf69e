//! A workload has no selector.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::yaml::core_schema::CoreValue;

use serde_json::json;

use crate::object::Object;
use crate::text_edit::flow_text;
use crate::{CheckContext, Rule, SkipReason};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4097",
        name: "manifest-selector-missing",
        severity: Severity::Warning,
        summary: "a workload has no selector",
        checks: "Whether a complete Deployment, StatefulSet, DaemonSet or ReplicaSet has `spec.selector`. The check does not
apply if there is a kustomization among the manifests: kustomize can add the selector.",
        reason: "The API server rejects the object. In versions of the API before `apps/v1`, the selector was optional, and old
examples lack it.",
        remedy: "Write `selector: {matchLabels: …}` with labels of the pod template.",
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(
            "  template:",
            "  selector: {matchLabels: {app: chat}}
  template:",
        ),
    },
    run,
};

/// The kinds whose selector is required.
const KINDS: &[&str] = &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_kustomized = ctx
        .skipped
        .iter()
        .any(|it| matches!(it.reason, SkipReason::Kustomization));
    if is_kustomized || ctx.are_labels_added {
        return;
    }
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        let object = pod.object;
        let has_images = pod.containers.iter().all(|it| it.image().is_some());
        if pod.containers.is_empty() || !has_images || !needs_selector(object) {
            continue;
        }
        // A template without labels is one of a patch.
        let labels = pod_labels(object);
        let Some((key, value)) = labels.first() else {
            continue;
        };
        let kind = object.root.get("kind");
        let span = kind.map_or(object.root.span(), Node::span);
        let message = format!("{} has no `selector`", object.title());
        let label = flow_text(&json!({"matchLabels": {*key: *value}}), false);
        let help = format!("write `selector: {label}` in its `spec`");
        report
            .diagnostic(&RULE.code, span, message)
            .primary_label("the API server rejects it")
            .help(help)
            .emit();
    }
}

fn needs_selector(object: &Object) -> bool {
    let spec = object.root.get("spec");
    object.is_in_group("apps")
        && KINDS.contains(&object.kind.as_str())
        && spec.is_some_and(|spec| spec.get("selector").is_none_or(is_null))
}

fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.core_value() == CoreValue::Null)
}

/// The labels of the pod template.
fn pod_labels(object: &Object) -> Vec<(&str, &str)> {
    let template = object.root.get("spec").and_then(|it| it.get("template"));
    let metadata = template.and_then(|it| it.get("metadata"));
    let labels = metadata.and_then(|it| it.get("labels"));
    let entries = labels.map_or(&[][..], Node::entries).iter();
    entries
        .filter_map(|entry| Some((entry.key.as_str(), entry.value.text()?)))
        .collect()
}
