//! Pods that have to be on one node are more than it has room for.

use crate::diag::{Code, Report, Severity};
use crate::manifests::near::{HOST, own_term};
use crate::manifests::place::{chooses_a_pool, held};
use crate::manifests::{Rule, Scene, services};
use crate::placement::{Answer, Demand, Reason, Why, verdict};

/// Pods that have to be on one node are more than it has room for.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4067",
        name: "manifest-beside-too-many",
        severity: Severity::Error,
        summary: "pods that have to be on one node are more than a node has room for",
        explain: "### What it checks

Services whose pods have a required affinity to each other by `kubernetes.io/hostname`: whether a node of some
pool has the GPUs, cores and memory of all `replicas` together.

### Why it matters

The first pod chooses the node, and the last ones wait for ever: `node(s) didn't match pod affinity rules`.

### What to do

Run fewer pods, or only prefer that they are together.
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
        podAffinity:
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
        podAffinity:
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
        let own = own_term(pod, "podAffinity").filter(|it| it.key == HOST);
        let Some((count, term)) = services::count(pod).zip(own) else {
            continue;
        };
        let Some((demand, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
            continue;
        };
        let is_any = !pod.asks_for_gpus() && !chooses_a_pool(&demand);
        if count.pods < 2 || (is_any && !scene.cluster.written.cloud.creates_cluster()) {
            continue;
        }
        let together = times(&demand, count.pods);
        let holding = verdicts.iter().filter(|it| it.answer() != Answer::No);
        let pools: Vec<_> = holding.map(|verdict| verdict.pool).collect();
        let why = pools.iter().map(|pool| {
            let mut reasons = verdict(&together, scene.cluster, pool).reasons.into_iter();
            Some((*pool, reasons.find(is_size)?))
        });
        let Some(why) = why.collect::<Option<Vec<_>>>().filter(|it| !it.is_empty()) else {
            continue;
        };
        let message = format!(
            "{} has {} pods that have to be on one node, and no node has room for them",
            pod.title(),
            count.pods
        );
        let span = count.span.unwrap_or(term.span);
        let mut draft = report.draft(&RULE.code, span, message);
        draft = draft.label(term.span, "each of them on the node of the others");
        for (pool, reason) in &why {
            draft = draft.label(pool.name.span, format!("pool `{}` {reason}", pool.name));
        }
        let help = "write fewer `replicas`, or `preferredDuringSchedulingIgnoredDuringExecution`";
        draft.help(help).emit();
    }
}

/// What so many pods ask for together.
fn times(demand: &Demand, pods: u64) -> Demand {
    let mut all = demand.clone();
    for request in &mut all.resources {
        request.count = request.count.saturating_mul(pods);
    }
    for claim in &mut all.claims {
        claim.count = claim.count.saturating_mul(pods);
    }
    for amount in all.cpu.iter_mut().chain(&mut all.memory) {
        amount.value = amount.value.saturating_mul(pods);
    }
    all
}

fn is_size(reason: &Reason) -> bool {
    let is_size = matches!(
        reason.why,
        Why::TooMany { .. } | Why::Cpu { .. } | Why::Memory { .. }
    );
    is_size && reason.answer == Answer::No
}
