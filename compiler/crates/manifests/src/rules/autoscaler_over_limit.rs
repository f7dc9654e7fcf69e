//! The maximum replicas of an autoscaler exceed the quota or the capacity of the pools.

use gpuc_model::scheduling::contention::{self, Sum};
use gpuc_model::scheduling::crowded;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::services::{Services, is_scaler, most};
use crate::{Rule, Scene};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4055",
        name: "manifest-autoscaler-over-limit",
        severity: Severity::Warning,
        summary: "the maximum replicas of an autoscaler exceed the quota or the capacity of the pools",
        checks: "Whether all pods that a HorizontalPodAutoscaler (`maxReplicas`) or a KEDA ScaledObject (`maxReplicaCount`)
may create fit, in addition to the minimum that other services always run. They must fit in the team's quota
and in the pools at their maximum number of nodes.",
        reason: "The autoscaler requests pods that the quota rejects or that stay Pending. The pods are missing when load is
highest, and only events say why.",
        remedy: "Lower `maxReplicas`, raise the team's quota, or give the pool more nodes.",
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
        correction: Correction::Replace("maxReplicas: 4", "maxReplicas: 3"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let scalers = scene.objects.iter().filter(|it| is_scaler(it));
    let scalers: Vec<_> = scalers.filter_map(|it| Some((it, most(it)?))).collect();
    if scalers.is_empty() {
        return;
    }
    // Services whose minimum already does not fit are reported by other rules.
    let min = Services::from_scene(scene);
    let crowds = crowded(scene.cluster, &min.loads).into_iter();
    let mut known: Vec<_> = crowds.flat_map(|it| it.loads).collect();
    let min = min.counted_by_quotas(scene.cluster);
    let sums = Sum::of_services(scene.cluster, &min.loads);
    known.extend(sums.iter().flat_map(Sum::loads));
    let alone = (0..min.loads.len()).filter(|it| {
        let sums = Sum::of_one(scene.cluster, &min.loads, *it);
        !sums.is_empty()
    });
    known.extend(alone);
    let known: Vec<_> = known.into_iter().map(|it| &min.loads[it].title).collect();
    for (scaler, max) in scalers {
        let services = Services::with_max(scene, scaler, max);
        let mut loads = services.loads.iter();
        let own = loads.position(|load| Some(load.span) == max.span);
        let Some(own) = own.filter(|own| !known.contains(&&services.loads[*own].title)) else {
            continue;
        };
        let words = format!("the maximum of {}", scaler.title());
        let crowds = crowded(scene.cluster, &services.loads);
        if let Some(crowd) = crowds.iter().find(|it| it.loads.contains(&own)) {
            let builder = contention::diagnostic(crowd, &RULE.code, &services.loads, report);
            builder.primary_label(words.clone()).emit();
        }
        let services = services.counted_by_quotas(scene.cluster);
        let loads = &services.loads;
        let sums = Sum::of_services(scene.cluster, loads).into_iter();
        let mut sums = sums.chain(Sum::of_one(scene.cluster, loads, own));
        if let Some(sum) = sums.find(|sum| sum.loads().contains(&own)) {
            sum.diagnostic(&RULE.code, loads, report)
                .primary_label(words)
                .emit();
        }
    }
}
