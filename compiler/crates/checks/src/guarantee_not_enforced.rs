//! Guaranteed GPUs can be taken by another team and are not reclaimed.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2164",
        name: "guarantee-not-enforced",
        severity: Severity::Warning,
        summary: "guaranteed GPUs can be taken by another team and are not reclaimed",
        checks: "Whether the limits of all teams exceed the GPUs of a pool at its maximum number of nodes, and no
queue reclaims usage beyond a guarantee.",
        reason: "A `ResourceQuota` is only an upper limit. A team keeps GPUs beyond its guarantee until its pods end,
and the teams with the guarantee wait.",
        remedy: "Use `queueing: kueue`: Kueue lends idle GPUs and reclaims them. Or lower the limits. Or set
`overcommit: true` in the pool, so that the first team that requests the GPUs gets them.",
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
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 4}]}
  - name: vision
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
"#,
        correction: Correction::Replace("limit: 4", "limit: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    for quota in cluster.promises() {
        let pool = &cluster.pools[quota.pool];
        let (guaranteed, limit, max) = (quota.guaranteed(), quota.limit(), quota.most());
        let mut grants = quota.grants.iter();
        let borrower = grants.find(|(_, it)| it.limit.value > it.guaranteed.value);
        let Some((team, grant)) = borrower else {
            continue;
        };
        // A single team takes nothing from others; excessive guarantees are reported separately.
        let other_guarantee = quota
            .grants
            .iter()
            .filter(|(other, _)| other.index != team.index)
            .find(|(_, it)| it.guaranteed.value > 0);
        let Some((other, other_grant)) = other_guarantee else {
            continue;
        };
        if limit <= max || guaranteed > max || pool.settings.overcommit.value {
            continue;
        }
        let message = format!(
            "team `{}` can use `{}` of pool `{}` that is guaranteed to `{}`",
            team.name, quota.resource, pool.name, other.name
        );
        let builder = report
            .diagnostic(&RULE.code, grant.limit.span, message)
            .label(other_grant.guaranteed.span, "guaranteed here");
        let span = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        let builder = builder.label(
            span,
            format!("{max} in total; the limits add up to {limit}"),
        );
        let help =
            "write `queueing: kueue`, lower the limit, or write `overcommit: true` in the pool";
        builder.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2164", teams, expected);
    }

    #[test]
    fn limits_within_capacity_or_queues_pass() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 2}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &["team `a` can use `nvidia.com/gpu.shared` of pool `turns` that is guaranteed to `b`"],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]\nqueueing: kueue",
            &[],
        );
    }
}
