//! Pods that keep apart are more than there are nodes for them.

use std::collections::BTreeSet;

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::near::{HOST, OwnTerm, own_term};
use crate::manifests::place::{chooses_a_pool, held};
use crate::manifests::services::Count;
use crate::manifests::{Pod, Rule, Scene, services};
use crate::model::Pool;
use crate::placement::{Answer, ZONE, values_of};

/// Pods that keep apart are more than there are nodes for them.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4053",
        name: "manifest-apart-too-many",
        severity: Severity::Error,
        summary: "pods that each need a node of their own are more than the nodes",
        explain: "### What it checks

Services whose pods have a required anti-affinity to each other by `kubernetes.io/hostname`, or by
`topology.kubernetes.io/zone`: whether the pools that hold them have as many nodes, at their most, or are in
as many zones, as there are `replicas`.

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
        let own = own_term(pod, "podAntiAffinity");
        let Some((count, term)) = services::count(pod).zip(own) else {
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
        match term.key {
            HOST => by_node(pod, &count, &term, &pools, report),
            ZONE => by_zone(scene, pod, &count, &term, &pools, report),
            _ => {}
        }
    }
}

fn by_node(pod: &Pod<'_>, count: &Count, term: &OwnTerm<'_>, pools: &[&Pool], report: &mut Report) {
    let nodes: Option<Vec<_>> = pools.iter().map(|pool| pool.nodes.get()).collect();
    let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) else {
        return;
    };
    let most: u64 = nodes.iter().map(|nodes| u64::from(nodes.max)).sum();
    if count.pods <= most {
        return;
    }
    let message = format!(
        "{} has {} pods that each need a node of their own, and there are at most {}",
        pod.title(),
        count.pods,
        words::counted(most, "node")
    );
    let span = count.span.unwrap_or(term.span);
    let mut draft = report.draft(&RULE.code, span, message);
    draft = draft.label(term.span, "no two of them on one node");
    for (pool, nodes) in pools.iter().zip(&nodes) {
        let most = words::counted(u64::from(nodes.max), "node");
        draft = draft.label(
            nodes.max_span,
            format!("pool `{}` has at most {most}", pool.name),
        );
    }
    draft.help(help(most)).emit();
}

fn by_zone(
    scene: &Scene<'_>,
    pod: &Pod<'_>,
    count: &Count,
    term: &OwnTerm<'_>,
    pools: &[&Pool],
    report: &mut Report,
) {
    let zones = pools
        .iter()
        .map(|pool| values_of(scene.cluster, pool, ZONE));
    let Some(zones) = zones.collect::<Option<Vec<_>>>() else {
        return;
    };
    let all: BTreeSet<_> = zones.iter().flatten().collect();
    let most = all.len() as u64;
    if all.is_empty() || count.pods <= most {
        return;
    }
    let message = format!(
        "{} has {} pods that each need a zone of their own, and there {} {}",
        pod.title(),
        count.pods,
        if most == 1 { "is" } else { "are" },
        words::counted(most, "zone")
    );
    let span = count.span.unwrap_or(term.span);
    let mut draft = report.draft(&RULE.code, span, message);
    draft = draft.label(term.span, "no two of them in one zone");
    for (pool, zones) in pools.iter().zip(&zones) {
        let names: Vec<_> = zones.iter().collect();
        let text = format!("pool `{}` is in {}", pool.name, words::all(&names, "and"));
        draft = draft.label(pool.name.span, text);
    }
    draft.help(help(most)).emit();
}

fn help(most: u64) -> String {
    format!("write at most {most} `replicas`, or `preferredDuringSchedulingIgnoredDuringExecution`")
}
