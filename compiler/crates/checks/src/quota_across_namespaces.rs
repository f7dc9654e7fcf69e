//! A quota cannot be enforced across namespaces.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Quota, Team};
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2159",
        name: "quota-across-namespaces",
        severity: Severity::Error,
        summary: "a quota cannot be enforced across namespaces",
        checks: "Whether each team's quota can be enforced: by a ResourceQuota for one namespace, or by Kueue for all
namespaces of a team. Whether each namespace has at most one quota.",
        reason: "A ResourceQuota counts its own namespace only. The same quota in two namespaces would be twice as
much, and gpuc cannot know how to divide it.",
        remedy: "Set the quota of each namespace in `namespaceQuotas`. With `queueing: kueue`, Kueue counts GPUs,
CPU, memory and pods of jobs in all namespaces together: set them in `quota`. It does not count
storage.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("quota: {gpus: [{pool: gpu, guaranteed: 4}]", "namespaceQuotas:
      - {namespace: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
      - {namespace: research-dev, quota: {gpus: [{pool: gpu, guaranteed: 1}]}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        check_team_quota(cluster, team, report);
        check_namespace_quotas(cluster, team, report);
    }
}

fn check_team_quota(cluster: &Cluster, team: &Team, report: &mut Report) {
    let Some(quota) = &team.quota else {
        return;
    };
    let [_, second, ..] = &team.namespaces[..] else {
        return;
    };
    // Kueue counts these across all namespaces.
    let jobs = job_quota_spans(quota).filter(|_| !cluster.has_queues());
    let uncounted: Vec<_> = jobs.chain(quota.storage.iter().map(|it| it.span)).collect();
    if let Some(span) = uncounted.first() {
        let message = format!(
            "the quota of team `{}` cannot be enforced across its {} namespaces",
            team.name,
            team.namespaces.len()
        );
        let kueue = if cluster.has_queues() {
            ""
        } else {
            ", or set `queueing: kueue`"
        };
        let help = format!("set the quota of each namespace in `namespaceQuotas`{kueue}");
        report
            .diagnostic(&RULE.code, *span, message)
            .label(second.span, "a ResourceQuota counts one namespace")
            .help(help)
            .emit();
    }
}

fn check_namespace_quotas(cluster: &Cluster, team: &Team, report: &mut Report) {
    let quotas = &team.namespace_quotas;
    for (index, entry) in quotas.iter().enumerate() {
        let name = &entry.namespace;
        let team_quota = team.quota.as_ref().filter(|_| team.namespaces.len() == 1);
        let first = quotas[..index].iter().find(|it| it.namespace == *name);
        let first = first
            .map(|it| it.quota.span)
            .or(team_quota.map(|it| it.span));
        let queued = job_quota_spans(&entry.quota)
            .next()
            .filter(|_| cluster.has_queues());
        if let Some(first) = first {
            let message = format!("namespace `{name}` has two quotas");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(first, "the first quota")
                .help("merge them into one quota")
                .emit();
        } else if let Some(span) = queued {
            report_queued(span, cluster.config.queueing.span, report);
        }
    }
}

/// The locations of the entries that Kueue counts: GPUs, CPU, memory and pods.
fn job_quota_spans(quota: &Quota) -> impl Iterator<Item = Span> {
    let gpus = quota.gpu_spans.iter().copied();
    let amounts = [&quota.cpu, &quota.memory].into_iter().flatten();
    let amounts = amounts.map(|it| it.span);
    gpus.chain(amounts)
        .chain(quota.pods.iter().map(|it| it.span))
}

/// Reports a namespace quota that Kueue would count. A queue has the quota of the whole team. An additional
/// ResourceQuota could reject the pods of a job that the queue admitted: the job would hold its GPUs and never run.
fn report_queued(span: Span, queueing: Span, report: &mut Report) {
    let message = "queues count jobs across all namespaces of a team, not in one namespace";
    report
        .diagnostic(&RULE.code, span, message)
        .label(queueing, "this enables queues")
        .help("move it to the team's `quota`")
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2159", teams, expected);
    }

    #[test]
    fn quotas_that_cannot_be_enforced_are_found() {
        check(
            "teams: [{name: a, quota: {pods: 5}}, {name: b, namespaces: [b, c], namespaceQuotas: [{namespace: c, quota: {cpu: 1}}]}]",
            &[],
        );
        check(
            "teams: [{name: b, namespaces: [b, c, d], quota: {cpu: 1, pods: 2}}]",
            &["the quota of team `b` cannot be enforced across its 3 namespaces"],
        );
        check(
            "teams: [{name: b, quota: {cpu: 1}, namespaceQuotas: [{namespace: b, quota: {cpu: 1}}]}]",
            &["namespace `b` has two quotas"],
        );
        check(
            "teams: [{name: b, namespaces: [b, c], quota: {cpu: 1, gpus: [{pool: train, guaranteed: 1}]}}]\nqueueing: kueue",
            &[],
        );
        check(
            "teams: [{name: b, namespaces: [b, c], quota: {storage: 1Ti}, namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 1}]}}]}]\nqueueing: kueue",
            &[
                "the quota of team `b` cannot be enforced across its 2 namespaces",
                "queues count jobs across all namespaces of a team, not in one namespace",
            ],
        );
    }
}
