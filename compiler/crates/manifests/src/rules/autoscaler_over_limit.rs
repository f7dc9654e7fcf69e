//! The maximum replicas of an autoscaler exceed the quota or the capacity of the pools.

use std::collections::BTreeSet;

use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_model::scheduling::find_over_capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::services::{ServiceWorkloads, scalers_with_target};
use crate::{CheckContext, Rule};

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

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let scalers = scalers_with_target(ctx);
    if scalers.is_empty() {
        return;
    }
    // Services whose minimum already does not fit are reported by other rules.
    let services_at_min = ServiceWorkloads::from_context(ctx);
    let min = services_at_min.clone();
    let over_capacities = find_over_capacity(ctx.cluster, &min.workloads).into_iter();
    let mut known: Vec<_> = over_capacities.flat_map(|it| it.workloads).collect();
    let min = min.with_quota_pools(ctx.cluster);
    let sums = ExceededByTeam::by_services(ctx.cluster, &min.workloads);
    known.extend(sums.iter().flat_map(ExceededByTeam::workload_indexes));
    let alone = (0..min.workloads.len()).filter(|it| {
        let sums = ExceededByTeam::by_workload(ctx.cluster, &min.workloads, *it);
        !sums.is_empty()
    });
    known.extend(alone);
    let known: BTreeSet<_> = known
        .into_iter()
        .map(|it| &min.workloads[it].title)
        .collect();
    for (scaler, max) in scalers {
        let services = services_at_min.with_max(ctx, scaler, max);
        let mut workloads = services.workloads.iter();
        let own = workloads.position(|workload| Some(workload.span) == max.span);
        let Some(own) = own.filter(|own| !known.contains(&services.workloads[*own].title)) else {
            continue;
        };
        let words = format!("the maximum of {}", scaler.title());
        let over_capacities = find_over_capacity(ctx.cluster, &services.workloads);
        if let Some(over_capacity) = over_capacities
            .iter()
            .find(|it| it.workloads.contains(&own))
        {
            let builder = contention::over_capacity_diagnostic(
                over_capacity,
                &RULE.code,
                &services.workloads,
                report,
            );
            builder.primary_label(words.clone()).emit();
        }
        let services = services.with_quota_pools(ctx.cluster);
        let workloads = &services.workloads;
        let sums = ExceededByTeam::by_services(ctx.cluster, workloads).into_iter();
        let mut sums = sums.chain(ExceededByTeam::by_workload(ctx.cluster, workloads, own));
        if let Some(sum) = sums.find(|sum| sum.workload_indexes().contains(&own)) {
            sum.diagnostic(&RULE.code, workloads, report)
                .primary_label(words)
                .emit();
        }
    }
}
