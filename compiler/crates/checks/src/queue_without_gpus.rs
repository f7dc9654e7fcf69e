//! A team's queue has no quota of GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2177",
        name: "queue-without-gpus",
        severity: Severity::Warning,
        summary: "a team's queue has no quota of GPUs",
        checks: "Whether every team has a quota of a pool, with `queueing: kueue`.",
        reason: "With queues, a team can use only GPUs for which it has a quota. Its jobs that request GPUs stay
pending indefinitely.",
        remedy: "Add a quota of a pool to the team. With `{pool: gpu, guaranteed: 0, limit: 8}` it can borrow only.
Allow the warning for a team that needs no GPUs.",
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
  - {name: serving}
"#,
        correction: Correction::Replace("serving", "serving, quota: {gpus: [{pool: gpu, guaranteed: 0, limit: 4}]}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    for team in cluster.teams.iter().filter(|team| team.grants.is_empty()) {
        let message = format!("the queue of team `{}` has no quota of GPUs", team.name);
        let builder = report.diagnostic(&RULE.code, team.name.span, message);
        let builder = builder.label(cluster.config.queueing.span, "this enables queues");
        let help =
            "add `quota: {gpus: [{pool: NAME, guaranteed: 0, limit: 1}]}` so that it can borrow";
        builder.help(help).emit();
    }
}
