//! Jobs wait in queues, and there is no team that has one.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Jobs wait in queues, and there is no team that has one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2170",
        name: "queue-without-teams",
        severity: Severity::Error,
        summary: "jobs wait in queues, and there is no team that has one",
        explain: "### What it checks

Whether there is a team where `queueing` is `kueue`.

### Why it matters

Each queue is a team's: it counts what the team was promised. Without teams Kueue would run and
nothing would wait for it.

### What to do

Add the teams. To have Kueue with queues of your own, write `charts: {kueue: {}}` instead.
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
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() && cluster.teams.is_empty() {
        let message = "no team has a queue";
        let draft = report.draft(&RULE.code, cluster.written.queueing.span, message);
        let help = "add `teams`, or write `charts: {kueue: {}}` instead, for queues of your own";
        draft.help(help).emit();
    }
}
