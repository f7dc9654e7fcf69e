//! A quota counts what nothing counts together.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};
use gpuc_schema::Span;
use gpuc_schema::config::Quota;

/// A quota counts what nothing counts together.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2159",
        name: "quota-over-namespaces",
        severity: Severity::Error,
        summary: "a quota counts what nothing counts together",
        explain: "### What it checks

Whether the quota of each team can be counted: by Kubernetes' own `ResourceQuota` for one namespace, by
Kueue for all namespaces of a team; and whether each namespace has one quota.

### Why it matters

A `ResourceQuota` sees its own namespace alone. The same quota in two of them would be twice as much,
and which part of it belongs to which of them only you know.

### What to do

Write each namespace's own part in `namespaceQuotas`. With `queueing: kueue` all that jobs ask for,
GPUs, CPU, memory and pods, is counted together and belongs into `quota`; storage is not.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    namespaces: [research, research-dev]
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    namespaces: [research, research-dev]
    namespaceQuotas:
      - {namespace: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
      - {namespace: research-dev, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        whole(cluster, team, report);
        parts(cluster, team, report);
    }
}

fn whole(cluster: &Cluster, team: &Team, report: &mut Report) {
    let Some(quota) = &team.written.quota else {
        return;
    };
    let [_, second, ..] = &team.namespaces[..] else {
        return;
    };
    // Queues count these over all namespaces.
    let jobs = of_jobs(quota).filter(|_| !cluster.has_queues());
    let apart: Vec<_> = jobs.chain(quota.storage.iter().map(|it| it.span)).collect();
    if let Some(span) = apart.first() {
        let message = format!(
            "nothing counts this quota over the {} namespaces of `{}`",
            team.namespaces.len(),
            team.name
        );
        let draft = report.draft(&RULE.code, *span, message);
        let draft = draft.label(
            second.span,
            "a quota of Kubernetes' own counts one namespace",
        );
        let kueue = if cluster.has_queues() {
            ""
        } else {
            ", or have `queueing: kueue` count it"
        };
        let help = format!("give each namespace its part in `namespaceQuotas`{kueue}");
        draft.help(help).emit();
    }
}

fn parts(cluster: &Cluster, team: &Team, report: &mut Report) {
    let parts = &team.written.namespace_quotas;
    for (index, part) in parts.iter().enumerate() {
        let name = &part.namespace;
        let whole = team
            .written
            .quota
            .as_ref()
            .filter(|_| team.namespaces.len() == 1);
        let first = parts[..index].iter().find(|it| it.namespace == *name);
        let first = first.map(|it| it.span).or(whole.map(|it| it.span));
        let queued = of_jobs(&part.quota).next().filter(|_| cluster.has_queues());
        if let Some(first) = first {
            let message = format!("the namespace `{name}` has two quotas");
            let draft = report.draft(&RULE.code, name.span, message);
            draft
                .label(first, "the first one")
                .help("make one of them")
                .emit();
        } else if let Some(span) = queued {
            refuse_queued(span, cluster.written.queueing.span, report);
        }
    }
}

/// Where a quota speaks of what queues count: all that jobs ask for.
fn of_jobs(quota: &Quota) -> impl Iterator<Item = Span> {
    let gpus = quota.gpus.iter().map(|it| it.span);
    let amounts = [&quota.cpu, &quota.memory].into_iter().flatten();
    let amounts = amounts.map(|it| it.span);
    gpus.chain(amounts)
        .chain(quota.pods.iter().map(|it| it.span))
}

/// A queue's quota is the team's. A quota of Kubernetes' own beside it could refuse the pods of a job that the queue
/// let start: it would hold its GPUs and never run.
fn refuse_queued(span: Span, queueing: Span, report: &mut Report) {
    let message = "queues count jobs over all namespaces of a team, not in one";
    let draft = report.draft(&RULE.code, span, message);
    let draft = draft.label(queueing, "jobs wait in queues");
    draft.help("write it in the team's `quota`").emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
              - {{name: infer, gpu: {{model: L4, perNode: 4}}, hosts: [b], nodes: {{count: 1}}}}
              - {{name: turns, gpu: {{model: L4, perNode: 1}}, hosts: [c], nodes: {{count: 1}}, sharing: {{timeSlicing: {{replicas: 4, rename: true}}}}}}
            {teams}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2159"), expected, "{teams}");
    }

    #[test]
    fn what_is_written_can_be_counted() {
        check(
            "teams: [{name: a, quota: {pods: 5}}, {name: b, namespaces: [b, c], namespaceQuotas: [{namespace: c, quota: {cpu: 1}}]}]",
            &[],
        );
        check(
            "teams: [{name: b, namespaces: [b, c, d], quota: {cpu: 1, pods: 2}}]",
            &["nothing counts this quota over the 3 namespaces of `b`"],
        );
        check(
            "teams: [{name: b, quota: {cpu: 1}, namespaceQuotas: [{namespace: b, quota: {cpu: 1}}]}]",
            &["the namespace `b` has two quotas"],
        );
        check(
            "teams: [{name: b, namespaces: [b, c], quota: {cpu: 1, gpus: [{pool: train, guaranteed: 1}]}}]\n            queueing: kueue",
            &[],
        );
        check(
            "teams: [{name: b, namespaces: [b, c], quota: {storage: 1Ti}, namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 1}]}}]}]\n            queueing: kueue",
            &[
                "nothing counts this quota over the 2 namespaces of `b`",
                "queues count jobs over all namespaces of a team, not in one",
            ],
        );
    }
}
