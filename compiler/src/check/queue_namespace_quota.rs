//! A queue counts a team, and the quota is of one of its namespaces.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A queue counts a team, and the quota is of one of its namespaces.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2176",
        name: "queue-namespace-quota",
        severity: Severity::Error,
        summary: "a queue counts a team, and the quota is of one of its namespaces",
        explain: "### What it checks

Whether `namespaceQuotas` speaks only of `storage` where `queueing` is `kueue`.

### Why it matters

A team has one queue, which counts over all of its namespaces. A ResourceQuota beside it could
refuse pods of a job that the queue let start: the job would hold its GPUs and never run.

### What to do

Write the quota of the whole team, in `quota`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
teams:
  - name: research
    namespaces: [lab, field]
    namespaceQuotas: [{namespace: lab, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}]
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
teams:
  - name: research
    namespaces: [lab, field]
    quota: {gpus: [{pool: gpu, guaranteed: 8}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    let own = cluster
        .teams
        .iter()
        .flat_map(|team| &team.written.namespace_quotas);
    for own in own {
        let quota = &own.quota;
        let gpus = quota.gpus.first().map(|it| it.span);
        let cpu = quota.cpu.as_ref().map(|it| it.span);
        let memory = quota.memory.as_ref().map(|it| it.span);
        let pods = quota.pods.as_ref().map(|it| it.span);
        for span in [gpus, cpu, memory, pods].into_iter().flatten() {
            let message = format!(
                "this counts `{}` alone, and queues count teams",
                own.namespace
            );
            let draft = report.draft(&RULE.code, span, message);
            let draft = draft.label(cluster.written.queueing.span, "jobs wait in queues");
            draft.help("write it in the team's `quota`").emit();
        }
    }
}
