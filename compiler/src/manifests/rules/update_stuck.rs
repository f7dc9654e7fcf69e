//! A new version of a Deployment finds no room beside the old one.

use crate::check::rolling::{Usual, needs_room};
use crate::check::together::Sum;
use crate::diag::{Code, Report, Severity};
use crate::manifests::services::{Services, count};
use crate::manifests::{Pod, Rule, Scene};
use crate::placement::Load;

/// A new version of a Deployment finds no room beside the old one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4063",
        name: "manifest-update-stuck",
        severity: Severity::Warning,
        summary: "a new version of a Deployment finds no room beside the old one",
        explain: "### What it checks

Deployments that make a new pod before they take an old one away, as they do unless they say otherwise:
whether the team may have one pod more, beside its other services.

### Why it matters

The first new version waits for ever: its pod is refused or not admitted, and no old one goes before it
is ready.

### What to do

Write `strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`, which gpuc writes for its own services
with GPUs, or leave room for one more pod.
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let services = Services::of(scene).seen_by_quotas(scene.cluster);
    let loads = &services.loads;
    // What is too much already is a finding of its own.
    let mut over = Vec::new();
    for sum in Sum::of_services(scene.cluster, loads) {
        over.extend_from_slice(sum.loads());
    }
    for (index, load) in loads.iter().enumerate() {
        if !services.is_news(&[index]) || over.contains(&index) {
            continue;
        }
        let mut pods = scene.pods.iter();
        let Some(pod) = pods.find(|pod| is_of(pod, load)).filter(|it| surges(it)) else {
            continue;
        };
        let mut rolling = loads.clone();
        for group in &mut rolling[index].groups {
            group.pods = group.pods.saturating_add(1);
        }
        let mut sums = Sum::of_services(scene.cluster, &rolling);
        sums.extend(Sum::of_one(scene.cluster, &rolling, index));
        let is_over = sums.iter().any(|sum| sum.loads().contains(&index));
        if !is_over || !Sum::of_one(scene.cluster, loads, index).is_empty() {
            continue;
        }
        let Some(team) = load.team.and_then(|name| scene.cluster.team(name)) else {
            continue;
        };
        let strategy = pod
            .object
            .root
            .get("spec")
            .and_then(|it| it.entry("strategy"));
        let span = strategy.map_or(load.span, |it| it.key_span);
        let message = format!(
            "a new version of {} finds no room beside the old one",
            pod.title()
        );
        let draft = report.draft(&RULE.code, span, message);
        let draft = draft.here("it takes no pod away before a new one is ready");
        let why = "it may not have one pod more beside its services";
        draft
            .label(team.name.span, why)
            .help("write `strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`, or leave room for one more pod")
            .emit();
    }
}

fn is_of(pod: &Pod<'_>, load: &Load<'_>) -> bool {
    let is_same = pod.title() == load.title && pod.object.namespace.as_deref() == load.namespace;
    is_same && pod.object.kind == "Deployment"
}

/// Whether a Deployment makes new pods before it takes old ones away.
fn surges(pod: &Pod<'_>) -> bool {
    let spec = pod.object.root.get("spec");
    let strategy = spec.and_then(|spec| spec.get("strategy"));
    let pods = count(pod).map_or(1, |count| count.pods);
    needs_room(
        strategy,
        u32::try_from(pods).unwrap_or(u32::MAX),
        &Usual::of_kubernetes(pods),
    )
}
