//! Pods that keep apart are more than there are nodes for them.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::place::{chooses_a_pool, held};
use crate::manifests::{Pod, Rule, Scene, services};
use crate::node::Node;
use crate::placement::Answer;
use crate::source::Span;

/// Pods that keep apart are more than there are nodes for them.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4053",
        name: "manifest-apart-too-many",
        severity: Severity::Error,
        summary: "pods that each need a node of their own are more than the nodes",
        explain: "### What it checks

Services whose pods have a required anti-affinity to each other by `kubernetes.io/hostname`: whether the
pools that hold them have as many nodes, at their most, as there are `replicas`.

### Why it matters

The last pods wait for ever, and a new version of a Deployment waits for a node more: `node(s) didn't
match pod anti-affinity rules`.

### What to do

Run fewer pods, or only prefer that they keep apart.
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 3
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: chat}}
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: chat}}
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in scene.pods.iter().filter(|pod| !pod.is_open) {
        let Some((count, place)) = services::count(pod).zip(apart(pod)) else {
            continue;
        };
        let Some((demand, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
            continue;
        };
        let is_any = !pod.asks_for_gpus() && !chooses_a_pool(&demand);
        if is_any && !scene.cluster.written.cloud.creates_cluster() {
            continue;
        }
        let holding = verdicts.iter().filter(|it| it.answer() != Answer::No);
        let pools: Vec<_> = holding.map(|verdict| verdict.pool).collect();
        let nodes: Option<Vec<_>> = pools.iter().map(|pool| pool.nodes.get()).collect();
        let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) else {
            continue;
        };
        let most: u64 = nodes.iter().map(|nodes| u64::from(nodes.max)).sum();
        if count.pods <= most {
            continue;
        }
        let message = format!(
            "{} has {} pods that each need a node of their own, and there are at most {}",
            pod.title(),
            count.pods,
            words::counted(most, "node")
        );
        let span = count.span.unwrap_or(place);
        let mut draft = report.draft(&RULE.code, span, message);
        draft = draft.label(place, "no two of them on one node");
        for (pool, nodes) in pools.iter().zip(&nodes) {
            let most = words::counted(u64::from(nodes.max), "node");
            draft = draft.label(
                nodes.max_span,
                format!("pool `{}` has at most {most}", pool.name),
            );
        }
        draft
            .help(format!(
                "write at most {most} `replicas`, or `preferredDuringSchedulingIgnoredDuringExecution`"
            ))
            .emit();
    }
}

/// Where the pods of a controller say that no two of them may be on one node.
fn apart(pod: &Pod<'_>) -> Option<Span> {
    let spec = pod.object.root.get("spec")?;
    let template = spec.get("template")?;
    template
        .get("spec")
        .filter(|it| std::ptr::eq(*it, pod.spec))?;
    let labels = template.get("metadata")?.get("labels")?;
    let affinity = pod.spec.get("affinity")?.get("podAntiAffinity")?;
    let terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let is_own = |term: &&Node| {
        let of_host =
            term.get("topologyKey").and_then(Node::text) == Some("kubernetes.io/hostname");
        let elsewhere = [
            "namespaces",
            "namespaceSelector",
            "matchLabelKeys",
            "mismatchLabelKeys",
        ];
        let is_here = elsewhere.iter().all(|key| term.get(key).is_none());
        of_host
            && is_here
            && term
                .get("labelSelector")
                .is_some_and(|it| selects(it, labels))
    };
    terms.items().iter().find(is_own).map(Node::span)
}

/// Whether a selector by labels alone takes something with these labels.
fn selects(selector: &Node, labels: &Node) -> bool {
    let wanted = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let expressions = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let has = |key: &str| labels.get(key).and_then(Node::text);
    let is_in = |expression: &Node| {
        let text = |key: &str| expression.get(key).and_then(Node::text);
        let own = text("key").and_then(has);
        let mut values = expression.get("values").map_or(&[][..], Node::items).iter();
        match text("operator") {
            Some("In") => own.is_some() && values.any(|value| value.text() == own),
            Some("Exists") => own.is_some(),
            _ => false,
        }
    };
    let is_some = !wanted.is_empty() || !expressions.is_empty();
    is_some
        && wanted
            .iter()
            .all(|entry| has(&entry.key) == entry.value.text())
        && expressions.iter().all(is_in)
}
