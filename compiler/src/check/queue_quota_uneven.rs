//! Queues count CPU or memory of one team and not of another.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Quantity, Quota};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};

/// Queues count CPU or memory of one team and not of another.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2172",
        name: "queue-quota-uneven",
        severity: Severity::Error,
        summary: "queues count CPU or memory of one team and not of another",
        explain: "### What it checks

Whether all teams have a quota of CPU, or none, and the same of memory, where `queueing` is `kueue`.

### Why it matters

Kueue counts a resource for every queue or for none: a job that asks for CPU, as every job does,
waits for ever in a queue that has no quota of it.

### What to do

Give every team a quota of it, or none.
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
  - {name: research, quota: {cpu: 64, gpus: [{pool: gpu, guaranteed: 4}]}}
  - {name: serving, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
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
  - {name: research, quota: {cpu: 64, gpus: [{pool: gpu, guaranteed: 4}]}}
  - {name: serving, quota: {cpu: 32, gpus: [{pool: gpu, guaranteed: 4}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    uneven(cluster, "cpu", |quota| quota.cpu.as_ref(), report);
    uneven(cluster, "memory", |quota| quota.memory.as_ref(), report);
}

fn uneven(
    cluster: &Cluster,
    key: &str,
    amount: fn(&Quota) -> Option<&Spanned<Quantity>>,
    report: &mut Report,
) {
    let of = |team: &Team| {
        let quota = team.written.quota.as_ref()?;
        amount(quota).map(|amount| amount.span)
    };
    let Some(counted) = cluster.teams.iter().find_map(of) else {
        return;
    };
    for team in cluster.teams.iter().filter(|team| of(team).is_none()) {
        let message = format!(
            "team `{}` has no quota of `{key}`, and others have",
            team.name
        );
        let draft = report.draft(&RULE.code, team.name.span, message);
        let draft = draft.label(counted, "with this, queues count it");
        let help = format!("add `{key}` to the team's `quota`, or remove it from all teams");
        draft.help(help).emit();
    }
}
