//! Only some teams have a quota of CPU or memory in queues.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Quantity, Quota, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2172",
        name: "queue-quota-incomplete",
        severity: Severity::Error,
        summary: "only some teams have a quota of CPU or memory in queues",
        checks: "Whether all teams or none have a quota of CPU, and likewise of memory, with `queueing: kueue`.",
        reason: "Kueue counts a resource in all queues or in none. Every job requests CPU, so that it stays pending
indefinitely in a queue without a quota of it.",
        remedy: "Set the quota for every team, or for none.",
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
  - {name: research, quota: {cpu: 64, gpus: [{pool: gpu, guaranteed: 4}]}}
  - {name: serving, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
"#,
        correction: Correction::Replace("quota: {gpus:", "quota: {cpu: 32, gpus:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    check_resource(cluster, "cpu", |quota| quota.cpu.as_ref(), report);
    check_resource(cluster, "memory", |quota| quota.memory.as_ref(), report);
}

fn check_resource(
    cluster: &Cluster,
    key: &str,
    amount: fn(&Quota) -> Option<&Quantity>,
    report: &mut Report,
) {
    let quota_span = |team: &Team| {
        let quota = team.quota.as_ref()?;
        amount(quota).map(|amount| amount.span)
    };
    let Some(counted_by) = cluster.teams.iter().find_map(quota_span) else {
        return;
    };
    for team in cluster
        .teams
        .iter()
        .filter(|team| quota_span(team).is_none())
    {
        let message = format!(
            "team `{}` has no quota of `{key}`, but another team has one",
            team.name
        );
        let help = format!("add `{key}` to the team's `quota`, or remove it from all teams");
        report
            .diagnostic(&RULE.code, team.name.span, message)
            .label(
                counted_by,
                "with this quota, Kueue counts the resource in all queues",
            )
            .help(help)
            .emit();
    }
}
