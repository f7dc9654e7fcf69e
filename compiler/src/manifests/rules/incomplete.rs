//! An object lacks what every object of its kind has.

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::is_gpu;
use crate::manifests::{Object, Pod, Rule, Scene};
use crate::node::{Node, Value};

/// An object lacks what every object of its kind has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4052",
        name: "manifest-incomplete",
        severity: Severity::Error,
        summary: "an object lacks what every object of its kind has",
        explain: "### What it checks

Whether what looks like an object has `apiVersion` and `kind`: containers that ask for GPUs, with one of
the two beside them. Of pods and what makes them: a name, a specification, and an image for each container
of an object that is no patch.

### Why it matters

`kubectl apply` refuses such an object.

### What to do

Add what the help names.
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// Kubernetes' kinds that are pods or make them.
const KINDS: &[(&str, &[&str])] = &[
    ("v1", &["Pod", "ReplicationController"]),
    (
        "apps/v1",
        &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"],
    ),
    ("batch/v1", &["Job", "CronJob"]),
];

fn run(scene: &Scene<'_>, report: &mut Report) {
    for root in scene.nearly {
        nearly(root, report);
    }
    for object in scene.objects {
        let is_it = |it: &&(&str, &[&str])| {
            it.0 == object.api_version && it.1.contains(&object.kind.as_str())
        };
        if KINDS.iter().any(|it| is_it(&it)) {
            let own = |pod: &&Pod<'_>| std::ptr::eq(pod.object, object);
            let containers = scene
                .pods
                .iter()
                .filter(own)
                .flat_map(|pod| &pod.containers);
            let images: Vec<_> = containers.map(|it| it.image().is_some()).collect();
            look(
                object,
                !images.is_empty() && images.iter().all(|it| *it),
                report,
            );
        }
    }
    for pod in scene.pods.iter().filter(|pod| !pod.is_open) {
        for container in &pod.containers {
            let is_template = pod.object.is_of("apps") || pod.object.is_of("batch");
            let is_known = is_template || pod.object.api_version == "v1";
            // What is no container at all is refused as such.
            let is_one = matches!(container.node.value, Value::Mapping(_));
            if !is_known || !is_one || container.node.get("image").is_some() {
                continue;
            }
            let message = format!(
                "{}: container `{}` has no image",
                pod.title(),
                container.name()
            );
            let draft = report.draft(&RULE.code, container.node.span(), message);
            draft.help("add `image`").emit();
        }
    }
}

/// Says what a document lacks to be an object.
fn nearly(root: &Node, report: &mut Report) {
    if !asks_for_gpus(root) {
        return;
    }
    let (there, missing) = match (root.entry("apiVersion"), root.entry("kind")) {
        (Some(there), None) => (there, "kind"),
        (None, Some(there)) => (there, "apiVersion"),
        _ => return,
    };
    let message = format!("an object that asks for GPUs has no `{missing}`");
    let draft = report.draft(&RULE.code, there.key_span, message);
    let help = match missing {
        "kind" => "add `kind`: what it is, such as `Pod` or `Job`",
        _ => "add `apiVersion`: `v1` of a Pod, `apps/v1` of a Deployment, `batch/v1` of a Job",
    };
    draft.help(help).emit();
}

/// Whether there are containers that ask for GPUs.
fn asks_for_gpus(node: &Node) -> bool {
    let is_one = |container: &Node| {
        let resources = container.get("resources");
        let lists = ["limits", "requests"].into_iter();
        let mut lists = lists.filter_map(|list| resources?.get(list));
        lists.any(|list| list.entries().iter().any(|entry| is_gpu(&entry.key)))
    };
    match &node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => items.iter().any(asks_for_gpus),
        Value::Mapping(entries) => entries.iter().any(|entry| {
            let is_list = entry.key == "containers";
            (is_list && entry.value.items().iter().any(is_one)) || asks_for_gpus(&entry.value)
        }),
    }
}

fn look(object: &Object, is_whole: bool, report: &mut Report) {
    let Some(kind) = object.root.entry("kind") else {
        return;
    };
    let metadata = object.root.get("metadata");
    let names = ["name", "generateName"];
    let is_named = names
        .iter()
        .any(|key| metadata.is_some_and(|it| it.get(key).is_some()));
    // A part of an object, such as a patch for several, has no name.
    if !is_named && is_whole {
        let message = format!("a {} has no name", object.kind);
        let draft = report.draft(&RULE.code, kind.value.span(), message);
        draft.help("add `name` below `metadata`").emit();
    }
    // Without the key it may be a part of one, such as a patch of labels.
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
        let draft = report.draft(&RULE.code, spec.key_span, message);
        draft.help("write what it runs below `spec`").emit();
    }
}
