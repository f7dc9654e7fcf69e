//! A manifest chooses nodes by a label of old.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};
use crate::model::POOL_LABEL;
use crate::node::Node;
use crate::source::Span;

/// A manifest chooses nodes by a label of old.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4007",
        name: "manifest-label-deprecated",
        severity: Severity::Warning,
        summary: "a manifest chooses nodes by a label of old",
        explain: "### What it checks

Whether `nodeSelector` and node affinity name a label that Kubernetes has replaced, such as
`beta.kubernetes.io/arch`, or that the cloud has, or `accelerator`, which tutorials use and which
nothing sets but AKS.

### Why it matters

Kubernetes keeps the old labels until it removes them, and an autoscaler may not know them of a node
that is not there yet. Nothing sets `accelerator` by itself: a pod that asks for it waits for ever.

### What to do

Write the label of today; `gpuc check --fix` does. For a card, choose the pool.
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {kubernetes.io/arch: amd64}
"#,
    },
    run,
};

/// Labels and what took their place.
///
/// Source: kubernetes.io/docs/reference/labels-annotations-taints (from memory).
const REPLACED: &[(&str, &str)] = &[
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

/// What documentation of old and tutorials schedule GPUs by, which nobody sets.
const NOBODYS: &[&str] = &["accelerator", "hardware-type"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        let selector = pod
            .nodes()
            .get("nodeSelector")
            .map_or(&[][..], Node::entries);
        for entry in selector {
            let new = new(scene, &entry.key);
            let edit = new.and_then(|key| edit::key(scene.sources, entry, key));
            let is_twice = new.is_some_and(|key| selector.iter().any(|it| it.key == key));
            let edit = edit.filter(|_| !is_twice);
            say(scene, &entry.key, entry.key_span, edit, report);
        }
        for key in affinity_keys(pod.nodes()) {
            let text = key.text().unwrap_or_default();
            let edit = new(scene, text).and_then(|new| edit::value(scene.sources, key, new));
            say(scene, text, key.span(), edit, report);
        }
    }
}

fn new(scene: &Scene<'_>, key: &str) -> Option<&'static str> {
    let mut labels = scene.cluster.pools.iter().flat_map(|pool| &pool.labels);
    if labels.any(|label| label.key == key) {
        return None;
    }
    let of_cloud = scene.cluster.cloud.facts().replaced_labels;
    let replaced = REPLACED.iter().chain(of_cloud).find(|(old, _)| *old == key);
    replaced.map(|(_, new)| *new)
}

fn say(
    scene: &Scene<'_>,
    key: &str,
    span: Span,
    edit: Option<crate::diag::Edit>,
    report: &mut Report,
) {
    let mut labels = scene.cluster.pools.iter().flat_map(|pool| &pool.labels);
    let is_set = labels.any(|label| label.key == key);
    let new = new(scene, key);
    let (message, help) = match new {
        Some(new) => (
            format!("the label `{key}` has been replaced"),
            format!("write `{new}`"),
        ),
        None if NOBODYS.contains(&key) && !is_set => (
            format!("no pool has the label `{key}`"),
            format!("choose a pool by `{POOL_LABEL}`, its name"),
        ),
        None => return,
    };
    let draft = report.draft(&RULE.code, span, message);
    let first = scene.cluster.gpu_pools().next().filter(|_| new.is_none());
    let draft = match first {
        Some((pool, _)) => draft.label(pool.name.span, "a pool with GPUs"),
        None => draft,
    };
    let draft = draft.help(help);
    match edit {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
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
