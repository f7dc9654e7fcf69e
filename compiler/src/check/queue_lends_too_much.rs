//! A team lends more than is guaranteed to it.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};

/// A team lends more than is guaranteed to it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2178",
        name: "queue-lends-too-much",
        severity: Severity::Error,
        summary: "a team lends more than is guaranteed to it",
        explain: "### What it checks

Whether `lend` is at most what is guaranteed.

### Why it matters

What a team lends is part of what it has. Kueue refuses the queue.

### What to do

Write at most what is guaranteed; without `lend` a team lends all that it leaves idle.
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4, lend: 8}]}}
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4, lend: 4}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let guaranteed = grant.guaranteed;
        let Some(lend) = grant.lend.filter(|lend| lend.value > guaranteed.value) else {
            continue;
        };
        let message = format!("{lend} are lent, and {guaranteed} are guaranteed");
        let draft = report.draft(&RULE.code, lend.span, message);
        let draft = draft.label(guaranteed.span, "no more than this can be lent");
        draft.help(format!("write {guaranteed} or less")).emit();
    }
}
