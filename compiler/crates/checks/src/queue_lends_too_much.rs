//! A team lends more than its guaranteed quota.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2178",
        name: "queue-lends-too-much",
        severity: Severity::Error,
        summary: "a team lends more than its guaranteed quota",
        checks: "Whether `lend` is at most the guaranteed quota.",
        reason: "A team can lend only a part of its quota. Kueue rejects the queue.",
        remedy: "Lower `lend` to at most the guaranteed quota. Without `lend`, a team lends all GPUs that it leaves
idle.",
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4, lend: 8}]}}
"#,
        correction: Correction::Replace("lend: 8", "lend: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let guaranteed = grant.guaranteed;
        let Some(lend) = grant.lend.filter(|lend| lend.value > guaranteed.value) else {
            continue;
        };
        let message = format!("`lend` is {lend}, but only {guaranteed} are guaranteed");
        report
            .diagnostic(&RULE.code, lend.span, message)
            .label(guaranteed.span, "this is the maximum for `lend`")
            .help(format!("write {guaranteed} or less"))
            .emit();
    }
}
