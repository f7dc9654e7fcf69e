//! Pods that Kueue admits together exceed the team's quota in every single pool.

use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_model::scheduling::{QuotaResource, find_unschedulable};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::quota_exceeded::quota_limit;
use crate::queued_workloads::queued_workloads;
use crate::{CheckContext, Rule, gang_scheduling};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4081",
        name: "manifest-pool-quota-exceeded",
        severity: Severity::Error,
        summary: "pods that start together exceed the team's quota in every single pool",
        checks: "Whether the pods of an object that start together fit in the team's `limit` for one of the pools, including
at most the quota that other teams lend. Such pods are those of a Job, of a StatefulSet or of a Ray worker
group. Kueue assigns all of them GPUs of one pool. The check applies in the namespaces of teams, with
`queueing: kueue`.

Pods of a Deployment start one by one. A Job with `kueue.x-k8s.io/job-min-parallelism` counts with that
number of pods.",
        reason: "Kueue never admits such a job, even if the pools are idle: it does not combine the quotas of several pools.",
        remedy: "Request fewer pods, split the job, or raise the team's `limit` for one pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
  - {name: more, gpu: {model: A30, perNode: 2}, hosts: [node-3], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}, {pool: more, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, namespace: research}
spec:
  parallelism: 3
  completions: 30
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: registry.example.com/sweep:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("parallelism: 3", "parallelism: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for (pod, workload) in queued_workloads(ctx) {
        let team = workload.team.and_then(|name| ctx.cluster.team(name));
        let Some(unschedulable) =
            team.and_then(|team| find_unschedulable(ctx.cluster, team, &workload))
        else {
            continue;
        };
        // A request that exceeds all pools together is reported by other rules.
        let resource = QuotaResource::Device(unschedulable.resource.clone());
        let limit = quota_limit(ctx, pod, &unschedulable.resource);
        let Some((limit, _)) = limit else { continue };
        let gang = [workload];
        let is_reported = match gang_scheduling::gang_pods(ctx.cluster, pod) {
            Some(_) => !ExceededByTeam::by_workload(ctx.cluster, &gang, 0).is_empty(),
            None => gang[0].requested(&resource) > limit,
        };
        if is_reported {
            continue;
        }
        let [workload] = gang;
        contention::unschedulable_diagnostic(&unschedulable, &workload, &RULE.code, report).emit();
    }
}
