//! Queues are enabled but there are no teams.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2170",
        name: "queue-without-teams",
        severity: Severity::Error,
        summary: "queues are enabled but there are no teams",
        checks: "Whether the configuration has at least one team, with `queueing: kueue`.",
        reason: "gpuc creates one queue for each team, with the team's quota. Without teams, Kueue would run but
manage no jobs.",
        remedy: "Add the teams. To use Kueue with your own queues, set `charts: {kueue: {}}` instead.",
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
"#,
        correction: Correction::Replace("kueue
", "kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() && cluster.teams.is_empty() {
        let message = "`queueing: kueue` has no effect without teams";
        let help = "add `teams`; or write `charts: {kueue: {}}` instead, for your own queues";
        report
            .diagnostic(&RULE.code, cluster.config.queueing.span, message)
            .help(help)
            .emit();
    }
}
