//! A queue setting has no effect without queues.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// The setting that enables queues.
const ENABLE_QUEUES: &str = "queueing: kueue";

/// The setting that enables weights.
const ENABLE_FAIR_SHARING: &str = "kueue: {fairSharing: true}";

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2171",
        name: "queue-setting-unused",
        severity: Severity::Error,
        summary: "a queue setting has no effect without queues",
        checks: "Whether `kueue`, `teams[].weight` and `lend` are set only with `queueing: kueue`, and `weight` only
with `kueue.fairSharing`.",
        reason: "gpuc does not accept keys that have no effect.",
        remedy: "Set `queueing: kueue`, or remove the setting.",
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8, lend: 4}]}}
"#,
        correction: Correction::Replace("teams:", "queueing: kueue
teams:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let has_queues = cluster.has_queues();
    let settings = cluster.config.kueue.as_ref();
    let is_fair = settings.is_some_and(|it| it.fair_sharing.value);
    let mut unused = Vec::new();
    if let Some(settings) = settings.filter(|_| !has_queues) {
        unused.push(("kueue", settings.span, ENABLE_QUEUES));
    }
    for team in &cluster.teams {
        let lent = team
            .grants()
            .filter_map(|grant| grant.lend.filter(|_| !has_queues));
        unused.extend(lent.map(|lend| ("lend", lend.span, ENABLE_QUEUES)));
        if let Some(weight) = team.settings.weight.as_ref().filter(|_| !is_fair) {
            unused.push(("weight", weight.span, ENABLE_FAIR_SHARING));
        }
    }
    for (key, span, required) in unused {
        let message = format!("`{key}` has no effect without `{required}`");
        let help = format!("set `{required}`, or remove `{key}`");
        report
            .diagnostic(&RULE.code, span, message)
            .help(help)
            .emit();
    }
}
