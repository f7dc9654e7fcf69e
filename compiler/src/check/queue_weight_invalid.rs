//! A weight that no team can have.

use std::ops::RangeInclusive;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// What the schema says as well.
const WEIGHTS: RangeInclusive<u32> = 1..=1000;

/// A weight that no team can have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2176",
        name: "queue-weight-invalid",
        severity: Severity::Error,
        summary: "a weight that no team can have",
        explain: "### What it checks

Whether each team's `weight` is between 1 and 1000.

### Why it matters

A team gets of what is idle in proportion to its weight. With 0 it would be the last to borrow and the
first to give back, whatever the others have.

### What to do

Write a number between 1 and 1000; only how the weights compare matters.
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
kueue: {fairSharing: true}
teams:
  - {name: research, weight: 0, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
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
kueue: {fairSharing: true}
teams:
  - {name: research, weight: 1, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for weight in cluster.teams.iter().filter_map(|team| team.written.weight) {
        if !WEIGHTS.contains(&weight.value) {
            let message = format!("no team can have the weight {weight}");
            let draft = report.draft(&RULE.code, weight.span, message);
            let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
            draft
                .help(format!("write a number between {least} and {most}"))
                .emit();
        }
    }
}
