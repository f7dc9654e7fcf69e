//! A team without a quota can take GPUs that other teams are guaranteed.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant, Quota, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2166",
        name: "team-without-quota",
        severity: Severity::Warning,
        summary: "a team without a quota can take GPUs that other teams are guaranteed",
        checks: "Whether every namespace of every team has a quota of GPUs if other teams have guarantees and there
are no queues.",
        reason: "A namespace without a quota is not limited: one job in it can take the GPUs that other teams are
guaranteed.",
        remedy: "Add a quota to the team. An entry with `guaranteed: 0` gives it no GPUs of a pool.",
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
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
  - name: vision
"#,
        correction: Correction::Replace("vision
", "vision
    quota: {gpus: [{pool: gpu, guaranteed: 0}]}
"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    let promises = cluster.quota_totals();
    for team in &cluster.teams {
        // Another rule reports a quota that cannot be enforced across several namespaces.
        if team.quota.as_ref().is_some_and(Quota::has_gpus) {
            continue;
        }
        let unlimited = (0..team.namespaces.len()).find(|index| {
            let quota = team.namespace_quota(*index);
            quota.is_none_or(|quota| !quota.has_gpus())
        });
        // Guarantees of another namespace of the same team count as well.
        let mut grants = promises.iter().flat_map(|it| &it.grants);
        let other = grants.find(|(_, grant)| grant.guaranteed.value > 0);
        if let Some((index, (other, grant))) = unlimited.zip(other) {
            let name = &team.namespaces[index];
            let message = format!(
                "namespace `{name}` has no GPU quota and can take GPUs that `{}` is guaranteed",
                guarantee_holder(team, other, grant)
            );
            let builder = report.diagnostic(&RULE.code, name.span, message);
            let builder = builder.label(grant.span, "this guarantee is at risk");
            let help =
                "add a quota with `gpus`; an entry with `guaranteed: 0` gives no GPUs of a pool";
            builder.help(help).emit();
        }
    }
}

/// The holder of a guarantee: another team, or another namespace of the same team.
fn guarantee_holder<'t>(team: &Team, other: &'t Team, grant: &Grant) -> &'t str {
    let own_namespace = grant.namespace.filter(|_| other.index == team.index);
    own_namespace.map_or(other.name.as_str(), |index| {
        other.namespaces[index].as_str()
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2166", teams, expected);
    }

    #[test]
    fn namespaces_without_a_quota_are_found() {
        check("teams: [{name: a}, {name: b, quota: {cpu: 4}}]", &[]);
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 0}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}, {name: b, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: turns, shares: 0}]}}]}]",
            &["namespace `c` has no GPU quota and can take GPUs that `a` is guaranteed"],
        );
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: turns, shares: 1}]}}]}]",
            &["namespace `c` has no GPU quota and can take GPUs that `b` is guaranteed"],
        );
    }
}
