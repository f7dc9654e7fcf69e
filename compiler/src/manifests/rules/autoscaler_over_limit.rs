//! An autoscaler may make more pods than there is room for.

use crate::check::together::{self, Sum};
use crate::diag::{Code, Report, Severity};
use crate::manifests::services::{Services, is_scaler, most};
use crate::manifests::{Rule, Scene};
use crate::placement::crowded;

/// An autoscaler may make more pods than there is room for.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4055",
        name: "manifest-autoscaler-over-limit",
        severity: Severity::Warning,
        summary: "an autoscaler may make more pods than there is room for",
        explain: "### What it checks

Whether there is room for all pods that a HorizontalPodAutoscaler may make by `maxReplicas`, or a
ScaledObject of KEDA's by `maxReplicaCount`, beside the least that other services always have: in what
the team may have, and on the pools that hold them, each with its most nodes.

### Why it matters

The autoscaler asks for pods that the quota refuses, or that wait for ever. When they are needed most,
they are not there, and nothing says why but events.

### What to do

Lower `maxReplicas`, raise what the team may have, or give the pool more nodes.
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
          resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat, namespace: research}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 4
  metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: 4}}}]
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
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat, namespace: research}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: 4}}}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let scalers = scene.objects.iter().filter(|it| is_scaler(it));
    let scalers: Vec<_> = scalers.filter_map(|it| Some((it, most(it)?))).collect();
    if scalers.is_empty() {
        return;
    }
    // What there is too little of at least is another finding.
    let least = Services::of(scene);
    let crowds = crowded(scene.cluster, &least.loads).into_iter();
    let mut known: Vec<_> = crowds.flat_map(|it| it.loads).collect();
    let least = least.seen_by_quotas(scene.cluster);
    let sums = Sum::of_services(scene.cluster, &least.loads);
    known.extend(sums.iter().flat_map(Sum::loads));
    let known: Vec<_> = known.into_iter().map(|it| &least.loads[it].title).collect();
    for (scaler, most) in scalers {
        let services = Services::with_most(scene, scaler, most);
        let mut loads = services.loads.iter();
        let own = loads.position(|load| Some(load.span) == most.span);
        let Some(own) = own.filter(|own| !known.contains(&&services.loads[*own].title)) else {
            continue;
        };
        let words = format!("as many as {} may make", scaler.title());
        let crowds = crowded(scene.cluster, &services.loads);
        if let Some(crowd) = crowds.iter().find(|it| it.loads.contains(&own)) {
            let draft = together::draft(crowd, &RULE.code, &services.loads, report);
            draft.here(words.clone()).emit();
        }
        let services = services.seen_by_quotas(scene.cluster);
        let loads = &services.loads;
        let sums = Sum::of_services(scene.cluster, loads).into_iter();
        let mut sums = sums.chain(Sum::of_one(scene.cluster, loads, own));
        if let Some(sum) = sums.find(|sum| sum.loads().contains(&own)) {
            sum.draft(&RULE.code, loads, report).here(words).emit();
        }
    }
}
