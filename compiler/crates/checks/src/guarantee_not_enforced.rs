//! Guaranteed GPUs can be taken by another team and are not reclaimed.

use std::collections::BTreeSet;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, QuotaTotal, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2164",
        name: "guarantee-not-enforced",
        severity: Severity::Warning,
        summary: "guaranteed GPUs can be taken by another team and are not reclaimed",
        checks: "Whether the guarantee of a team and the limits of all other teams together exceed the GPUs of a pool
at its maximum number of nodes, and no queue reclaims usage beyond a guarantee. gpuc reports each
team that can use more than its guarantee.",
        reason: "A `ResourceQuota` is only an upper limit. A team keeps GPUs beyond its guarantee until its pods end,
and the teams with the guarantee wait.",
        remedy: "Use `queueing: kueue`: Kueue lends idle GPUs and reclaims them. Or lower the limits. Or set
`overcommit: true` in the pool, so that the first team that requests the GPUs gets them.",
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
    for quota in cluster.quota_totals() {
        let pool = &cluster.pools[quota.pool];
        let max = quota.max_total();
        // Excessive guarantees are reported separately.
        if quota.guaranteed() > max || pool.settings.overcommit.value {
            continue;
        }
        let grants = quota.grants.iter();
        let at_risk: Vec<_> = grants
            .filter(|(team, it)| it.guaranteed.value > 0 && is_at_risk(&quota, team))
            .collect();
        for (team, grant) in &quota.grants {
            // A single team takes nothing from others.
            let others = at_risk
                .iter()
                .filter(|(other, _)| other.index != team.index);
            let names: BTreeSet<_> = others.clone().map(|(it, _)| it.name.as_str()).collect();
            if grant.limit.value <= grant.guaranteed.value || names.is_empty() {
                continue;
            }
            let names: Vec<_> = names.into_iter().collect();
            let message = format!(
                "team `{}` can use `{}` of pool `{}` that is guaranteed to {}",
                team.name,
                quota.resource,
                pool.name,
                phrases::quoted_conjunction(&names, "and")
            );
            let mut builder = report.diagnostic(&RULE.code, grant.limit.span, message);
            for (_, other) in others {
                builder = builder.label(other.guaranteed.span, "guaranteed here");
            }
            let span = pool
                .nodes
                .get()
                .map_or(pool.name.span, |nodes| nodes.max_span);
            let total = format!("{max} in total; the limits add up to {}", quota.limit());
            let help =
                "write `queueing: kueue`, lower the limit, or write `overcommit: true` in the pool";
            builder.label(span, total).help(help).emit();
        }
    }
}

/// Whether the other teams can use so much within their limits that the guarantee of a team does not fit.
fn is_at_risk(quota: &QuotaTotal<'_>, team: &Team) -> bool {
    let used = quota.grants.iter().map(|(other, grant)| {
        let is_own = other.index == team.index;
        let used = if is_own {
            &grant.guaranteed
        } else {
            &grant.limit
        };
        u64::from(used.value)
    });
    used.sum::<u64>() > quota.max_total()
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    const POOLS: &str = "
cloud: {onPrem: {context: demo}}
nodePools:
  - {name: train, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}
  - {name: infer, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}}
  - {name: turns, gpu: {model: L4, perNode: 1}, hosts: [c], nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4, rename: true}}}";

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        let yaml = format!("{POOLS}\n{teams}\n");
        assert_eq!(messages_with_id(&yaml, "GPUC2164"), expected, "{teams}");
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

    #[test]
    fn every_borrower_and_every_guarantee_counts() {
        let grant = |name: &str, guaranteed: u32, limit: u32| {
            format!(
                "{{name: {name}, quota: {{gpus: [{{pool: infer, guaranteed: {guaranteed}, limit: {limit}}}]}}}}"
            )
        };
        let says = |borrower: &str, owners: &str| {
            format!(
                "team `{borrower}` can use `nvidia.com/gpu` of pool `infer` that is guaranteed to {owners}"
            )
        };
        let found = |teams: &[String], expected: &[String]| {
            let mut expected: Vec<_> = expected.iter().map(String::as_str).collect();
            expected.sort_unstable();
            let reversed: Vec<_> = teams.iter().rev().cloned().collect();
            for teams in [teams, &reversed] {
                let yaml = format!("{POOLS}\nteams: [{}]\n", teams.join(", "));
                let mut found = messages_with_id(&yaml, "GPUC2164");
                found.sort();
                assert_eq!(found, expected, "{teams:?}");
            }
        };
        // The first team borrows as well, but nothing is guaranteed to the other.
        found(&[grant("a", 2, 4), grant("b", 0, 4)], &[says("b", "`a`")]);
        found(
            &[grant("a", 1, 4), grant("b", 1, 4)],
            &[says("a", "`b`"), says("b", "`a`")],
        );
        found(
            &[grant("a", 2, 2), grant("b", 1, 1), grant("c", 0, 4)],
            &[says("c", "`a` and `b`")],
        );
        // What is left by the limit of the other is enough for the guarantee.
        found(&[grant("a", 2, 4), grant("b", 0, 2)], &[]);
    }
}
