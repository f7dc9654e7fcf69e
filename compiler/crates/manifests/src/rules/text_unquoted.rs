//! A value that must be a string is a number or a boolean.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::yaml::core_schema::{CoreValue, resolve_scalar};

use crate::{CheckContext, Object, Pod, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4026",
        name: "manifest-text-unquoted",
        severity: Severity::Error,
        summary: "a value that must be a string is a number or a boolean",
        checks: "Whether the values of `nodeSelector`, node affinity, tolerations, environment variables, labels and
annotations are strings, including those of pod templates. `rayStartParams` of Ray and `nodeLabels`
of Kueue flavors are checked in the same way. YAML reads unquoted `true`, `yes`, `80` and `1.0` as
other types.",
        reason: "The API server rejects the object: `json: cannot unmarshal bool into Go struct field … of type string`.",
        remedy: "Quote the value; `gpuc check --fix --unsafe-fixes` does so.",
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
  nodeSelector: {nvidia.com/gpu.present: true}
"#,
        correction: Correction::Replace("nvidia.com/gpu.present: true", r#"nvidia.com/gpu.present: "true""#),
    },
    run,
};

/// Booleans in YAML 1.1, which kubectl reads.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolveMap` (from memory).
const BOOLEANS: &[&str] = &["yes", "no", "on", "off"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects {
        let title = object.title();
        let metadata = object.root.get("metadata");
        check_metadata(ctx, metadata, &title, report);
        for (value, field) in texts_of_kind(object) {
            check_value(ctx, value, &field, &title, report);
        }
    }
    for pod in &ctx.pods {
        let title = pod.title();
        let template = find_template(&pod.object.root, pod.spec);
        // Templates of Argo have the metadata of their pods next to the container.
        let mut templates = template.into_iter().chain([pod.spec]);
        let metadata = templates.find_map(|it| it.get("metadata"));
        check_metadata(ctx, metadata, &title, report);
        for (value, field) in pod_texts(pod) {
            check_value(ctx, value, &field, &title, report);
        }
    }
}

fn check_metadata(
    ctx: &CheckContext<'_>,
    metadata: Option<&Node>,
    title: &str,
    report: &mut Report,
) {
    for (key, noun) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = metadata.and_then(|it| it.get(key));
        for entry in entries.map_or(&[][..], Node::entries) {
            let field = format!("{noun} `{}`", entry.key);
            check_value(ctx, &entry.value, &field, title, report);
        }
    }
}

/// The template of a pod: the mapping with its `spec` and `metadata`.
fn find_template<'n>(node: &'n Node, spec: &Node) -> Option<&'n Node> {
    if node.get("spec").is_some_and(|it| std::ptr::eq(it, spec)) {
        return Some(node);
    }
    let below = node.entries().iter().map(|entry| &entry.value);
    let mut below = below.chain(node.items());
    below.find_map(|it| find_template(it, spec))
}

/// The values of specific kinds that must be strings, with a description: parameters of Ray, labels of a flavor.
///
/// Source: ray-project/kuberay `ray-operator/apis/ray/v1/raycluster_types.go`, `RayStartParams`;
/// kubernetes-sigs/kueue `apis/kueue/v1beta1/resourceflavor_types.go`, `NodeLabels` (from memory).
fn texts_of_kind(object: &Object) -> Vec<(&Node, String)> {
    let mut texts = Vec::new();
    if object.is_in_group("ray.io") {
        add_map_values(&object.root, "rayStartParams", "parameter", &mut texts);
    } else if object.is_in_group("kueue.x-k8s.io") {
        add_map_values(&object.root, "nodeLabels", "node label", &mut texts);
    }
    texts
}

/// Collects the values of every mapping with a key.
fn add_map_values<'n>(node: &'n Node, key: &str, noun: &str, texts: &mut Vec<(&'n Node, String)>) {
    for item in node.items() {
        add_map_values(item, key, noun, texts);
    }
    for entry in node.entries() {
        if entry.key == key {
            let entries = entry.value.entries().iter();
            texts.extend(entries.map(|it| (&it.value, format!("{noun} `{}`", it.key))));
        } else {
            add_map_values(&entry.value, key, noun, texts);
        }
    }
}

/// The values in a pod that must be strings, with a description.
fn pod_texts<'n>(pod: &Pod<'n>) -> Vec<(&'n Node, String)> {
    let list = |node: Option<&'n Node>| node.map_or(&[][..], Node::items).iter();
    let mut texts = Vec::new();
    let selector = pod.spec.get("nodeSelector").map_or(&[][..], Node::entries);
    texts.extend(
        selector
            .iter()
            .map(|it| (&it.value, format!("node selector `{}`", it.key))),
    );
    let named = |noun: &str, node: &Node, key: &str| match node.get(key).and_then(Node::text) {
        Some(name) => format!("{noun} `{name}`"),
        None => noun.to_owned(),
    };
    let tolerations = list(pod.spec.get("tolerations"));
    let values =
        tolerations.filter_map(|it| Some((it.get("value")?, named("toleration of", it, "key"))));
    texts.extend(values);
    let affinity = pod.spec.get("affinity");
    let affinity = affinity.and_then(|it| it.get("nodeAffinity"));
    let get = |key| affinity.and_then(|it: &Node| it.get(key));
    let required = get("requiredDuringSchedulingIgnoredDuringExecution");
    let required = list(required.and_then(|it| it.get("nodeSelectorTerms")));
    let preferred = list(get("preferredDuringSchedulingIgnoredDuringExecution"));
    let terms = required.chain(preferred.filter_map(|it| it.get("preference")));
    let expressions = terms.flat_map(|term| list(term.get("matchExpressions")));
    let values = expressions.flat_map(|it| {
        let field = named("node affinity to", it, "key");
        list(it.get("values")).map(move |value| (value, field.clone()))
    });
    texts.extend(values);
    for container in &pod.containers {
        let env = list(container.node.get("env"));
        let values = env.filter_map(|it| Some((it.get("value")?, named("variable", it, "name"))));
        texts.extend(values);
    }
    texts
}

/// Whether YAML 1.1 reads the text as a number with `_` between its digits.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolve` (from memory).
fn is_yaml_1_1_number(text: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.contains('_')
        && digits.chars().all(is_mark)
        && digits.replace('_', "").parse::<f64>().is_ok()
}

fn check_value(ctx: &CheckContext<'_>, node: &Node, field: &str, title: &str, report: &mut Report) {
    let Value::Scalar(Scalar::Written { text, plain: true }) = &node.value else {
        return;
    };
    let found = match resolve_scalar(text, true) {
        CoreValue::Bool(_) => "a boolean",
        CoreValue::Integer(_) | CoreValue::Float(_) => "a number",
        CoreValue::Text(text) if BOOLEANS.contains(&text.to_ascii_lowercase().as_str()) => {
            "a boolean"
        }
        CoreValue::Text(text) if is_yaml_1_1_number(text) => "a number",
        CoreValue::Null | CoreValue::Text(_) => return,
    };
    let message = format!("the {field} of {title} must be a string, but is {found}");
    let quoted = format!("\"{text}\"");
    let builder = report.diagnostic(&RULE.code, node.span(), message);
    let builder = builder.primary_label(format!("`{text}` is not quoted"));
    let builder = builder.help(format!("write `{quoted}`"));
    match text_edit::replace_value(ctx.sources, node, &quoted) {
        Some(edit) => builder.suggest(vec![edit]).emit(),
        None => builder.emit(),
    };
}
