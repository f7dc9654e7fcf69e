//! An object lacks a required field.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Value};

use crate::resources::is_gpu_name;
use crate::{CheckContext, Object, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4052",
        name: "manifest-incomplete",
        severity: Severity::Error,
        summary: "an object lacks a required field",
        checks: "Whether documents that look like an object have `apiVersion` and `kind`: those with containers that request
GPUs and one of the two keys. Whether Pods and the objects that create them have a name, a `spec`, and an
image for each container, unless the object is a patch.",
        reason: "`kubectl apply` rejects such an object.",
        remedy: "Add the field that the help names.",
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("metadata: {name: train", "kind: Pod
metadata: {name: train"),
    },
    run,
};

/// Built-in kinds that are Pods or create them.
const KINDS: &[(&str, &[&str])] = &[
    ("v1", &["Pod", "ReplicationController"]),
    (
        "apps/v1",
        &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"],
    ),
    ("batch/v1", &["Job", "CronJob"]),
];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for root in ctx.incomplete {
        check_document(root, report);
    }
    for object in ctx.objects {
        let is_kind = |it: &&(&str, &[&str])| {
            it.0 == object.api_version && it.1.contains(&object.kind.as_str())
        };
        if KINDS.iter().any(|it| is_kind(&it)) {
            let own = |pod: &&Pod<'_>| std::ptr::eq(pod.object, object);
            let containers = ctx.pods.iter().filter(own).flat_map(|pod| &pod.containers);
            let images: Vec<_> = containers.map(|it| it.image().is_some()).collect();
            check_object(
                object,
                !images.is_empty() && images.iter().all(|it| *it),
                report,
            );
        }
    }
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        for container in &pod.containers {
            let is_template = pod.object.is_in_group("apps") || pod.object.is_in_group("batch");
            let is_known = is_template || pod.object.api_version == "v1";
            // Any other value is reported by `api_server`.
            let is_mapping = matches!(container.node.value, Value::Mapping(_));
            // Spark sets the image of its pod templates.
            let is_of_spark = container.name().starts_with("spark-kubernetes-");
            if !is_known || !is_mapping || is_of_spark || container.node.get("image").is_some() {
                continue;
            }
            let message = format!(
                "{}: container `{}` has no image",
                pod.title(),
                container.name()
            );
            let builder = report.diagnostic(&RULE.code, container.node.span(), message);
            builder.help("add `image`").emit();
        }
    }
}

/// Reports a missing `apiVersion` or `kind`.
fn check_document(root: &Node, report: &mut Report) {
    if !requests_gpus(root) {
        return;
    }
    let (present, missing) = match (root.entry("apiVersion"), root.entry("kind")) {
        (Some(present), None) => (present, "kind"),
        (None, Some(present)) => (present, "apiVersion"),
        _ => return,
    };
    let message = format!("an object that requests GPUs has no `{missing}`");
    let builder = report.diagnostic(&RULE.code, present.key_span, message);
    let help = match missing {
        "kind" => "add `kind`, such as `Pod` or `Job`",
        _ => "add `apiVersion`: `v1` for a Pod, `apps/v1` for a Deployment, `batch/v1` for a Job",
    };
    builder.help(help).emit();
}

/// Whether any container below the node requests GPUs.
fn requests_gpus(node: &Node) -> bool {
    let has_gpus = |container: &Node| {
        let resources = container.get("resources");
        let lists = ["limits", "requests"].into_iter();
        let mut lists = lists.filter_map(|list| resources?.get(list));
        lists.any(|list| list.entries().iter().any(|entry| is_gpu_name(&entry.key)))
    };
    match &node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => items.iter().any(requests_gpus),
        Value::Mapping(entries) => entries.iter().any(|entry| {
            let is_list = entry.key == "containers";
            (is_list && entry.value.items().iter().any(has_gpus)) || requests_gpus(&entry.value)
        }),
    }
}

/// Reports a missing name and an empty `spec`.
fn check_object(object: &Object, is_whole: bool, report: &mut Report) {
    let Some(kind) = object.root.entry("kind") else {
        return;
    };
    let metadata = object.root.get("metadata");
    let names = ["name", "generateName"];
    let is_named = names
        .iter()
        .any(|key| metadata.is_some_and(|it| it.get(key).is_some()));
    // A partial object, such as a patch for several objects, needs no name.
    if !is_named && is_whole {
        let message = format!("a {} has no name", object.kind);
        let builder = report.diagnostic(&RULE.code, kind.value.span(), message);
        builder.help("add `name` below `metadata`").emit();
    }
    // An object without the key may be partial, such as a patch of labels.
    let spec = object.root.entry("spec");
    let is_empty = |node: &Node| match &node.value {
        Value::Scalar(_) => node
            .text()
            .is_none_or(|text| ["", "~", "null"].contains(&text)),
        Value::Sequence(_) => false,
        Value::Mapping(entries) => entries.is_empty(),
    };
    if let Some(spec) = spec.filter(|it| is_empty(&it.value)) {
        let message = format!("{} has an empty `spec`", object.title());
        let builder = report.diagnostic(&RULE.code, spec.key_span, message);
        builder.help("write the specification below `spec`").emit();
    }
}
