//! A team's queue lets no job use a GPU.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A team's queue lets no job use a GPU.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2177",
        name: "queue-without-gpus",
        severity: Severity::Warning,
        summary: "a team's queue lets no job use a GPU",
        explain: "### What it checks

Whether every team has a quota of some pool, where `queueing` is `kueue` and the team has members or
workloads.

### Why it matters

With queues, what is not promised is not there: jobs of the team that ask for a GPU wait for ever.

### What to do

Give the team a quota of a pool; `{pool: gpu, guaranteed: 0, limit: 8}` lets it borrow only. Allow the
warning for a team that needs no GPUs.
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
  - {name: serving}
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
  - {name: serving, quota: {gpus: [{pool: gpu, guaranteed: 0, limit: 4}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    for team in cluster.teams.iter().filter(|team| team.grants.is_empty()) {
        let message = format!("the queue of team `{}` lets no job use a GPU", team.name);
        let draft = report.draft(&RULE.code, team.name.span, message);
        let draft = draft.label(cluster.written.queueing.span, "jobs wait in queues");
        let help = "add `quota: {gpus: [{pool: NAME, guaranteed: 0, limit: 1}]}` to let it borrow";
        draft.help(help).emit();
    }
}
