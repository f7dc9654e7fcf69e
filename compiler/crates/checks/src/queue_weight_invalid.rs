//! A team's weight is out of range.

use std::ops::RangeInclusive;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// The range of weights, as in the JSON schema.
const WEIGHT_RANGE: RangeInclusive<u32> = 1..=1000;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2176",
        name: "queue-weight-invalid",
        severity: Severity::Error,
        summary: "a team's weight is out of range",
        checks: "Whether each team's `weight` is between 1 and 1000.",
        reason: "Idle GPUs are divided among the teams in proportion to their weights. A team with weight 0 would
always be the last to borrow and the first to give back.",
        remedy: "Write a number between 1 and 1000. Only the ratio of the weights matters.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("weight: 0", "weight: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for weight in cluster.teams.iter().filter_map(|team| team.settings.weight) {
        if !WEIGHT_RANGE.contains(&weight.value) {
            let message = format!("the weight {weight} is out of range");
            let builder = report.diagnostic(&RULE.code, weight.span, message);
            let (min, max) = (WEIGHT_RANGE.start(), WEIGHT_RANGE.end());
            builder
                .help(format!("write a number between {min} and {max}"))
                .emit();
        }
    }
}
