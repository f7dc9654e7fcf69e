//! A DaemonSet asks for GPUs on nodes that have none of that name.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::place::held;
use crate::manifests::{Container, Rule, Scene};
use crate::model::POOL_LABEL;
use crate::placement::{Answer, Verdict, Why};

/// A DaemonSet asks for GPUs on nodes that have none of that name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4069",
        name: "manifest-daemon-waits",
        severity: Severity::Warning,
        summary: "a DaemonSet asks for GPUs on nodes that have none of that name",
        explain: "### What it checks

DaemonSets that ask for GPUs by a name that some pools offer: whether they also choose, and tolerate, the nodes of
pools that offer none of that name.

### Why it matters

A pod waits on each of those nodes for ever, and on each of the others one takes a GPU from those who work with
it.

### What to do

Choose the nodes of the pools that offer it, or ask for no GPU.
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
  - name: shared
    gpu: {model: L4, perNode: 1}
    hosts: [node-4]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
--- # manifest.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: monitoring}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations: [{operator: Exists}]
      containers:
        - name: main
          image: registry.example.com/agent:1.0.0
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
  - name: shared
    gpu: {model: L4, perNode: 1}
    hosts: [node-4]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
--- # manifest.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: monitoring}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {gpuc.dev/pool: gpu}
      tolerations: [{operator: Exists}]
      containers:
        - name: main
          image: registry.example.com/agent:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in scene
        .pods
        .iter()
        .filter(|pod| pod.is_of_nodes() && !pod.is_open)
    {
        let Some(gpus) = pod.containers.iter().find_map(Container::gpus) else {
            continue;
        };
        let Some((_, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
            continue;
        };
        let holds = verdicts.iter().filter(|it| it.answer() == Answer::Yes);
        let with: Vec<_> = holds.map(|it| it.pool.name.as_str()).collect();
        let without: Vec<_> = verdicts
            .iter()
            .filter(|it| waits(it))
            .map(|it| it.pool)
            .collect();
        if with.is_empty() || without.is_empty() {
            continue;
        }
        let names: Vec<_> = without.iter().map(|pool| pool.name.as_str()).collect();
        let s = if names.len() == 1 { "" } else { "s" };
        let message = format!(
            "{} asks for `{}` on the nodes of pool{s} {} too, which have none",
            pod.title(),
            gpus.key,
            words::all(&names, "and")
        );
        let mut draft = report.draft(&RULE.code, gpus.key_span, message);
        for pool in &without {
            draft = draft.label(
                pool.name.span,
                format!("a pod waits on each node of pool `{}`", pool.name),
            );
        }
        let help = match with.as_slice() {
            [only] => format!("ask for no GPU, or choose nodes by `{POOL_LABEL}: {only}`"),
            several => format!(
                "ask for no GPU, or choose nodes by `{POOL_LABEL}`: {}",
                words::all(several, "or")
            ),
        };
        draft.help(help).emit();
    }
}

/// Whether nothing keeps a pod of every node from a pool's, and there is nothing of what it asks for.
fn waits(verdict: &Verdict<'_>) -> bool {
    let is_missing = |why: &Why| matches!(why, Why::NotOffered { .. });
    let mut reasons = verdict.reasons.iter();
    let is_some = reasons.clone().any(|reason| is_missing(&reason.why));
    is_some && reasons.all(|reason| is_missing(&reason.why))
}
