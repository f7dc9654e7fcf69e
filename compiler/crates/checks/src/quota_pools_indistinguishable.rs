//! A quota cannot distinguish two pools.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2160",
        name: "quota-pools-indistinguishable",
        severity: Severity::Error,
        summary: "a quota cannot distinguish two pools",
        checks: "Whether a team with a quota of a pool has a quota of every pool that advertises the same resource,
without queues.",
        reason: "A ResourceQuota counts resources such as `nvidia.com/gpu` in all pools. It also counts GPUs of a
pool for which the team has no quota, so that the team can use them. With DRA, a DeviceClass selects
devices only by GPU model: the class of one pool also matches GPUs of another pool with the same
model.",
        remedy: "Add an entry for the other pool if the team may use it. Otherwise, give the pools different resource
names: share one of them with `rename: true`, or partition it with `strategy: mixed`. Or set
`queueing: kueue`, which counts each pool separately.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: train
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
  - name: infer
    gpu: {model: L4, perNode: 4}
    hosts: [node-2]
    nodes: {count: 1}
teams:
  - name: research
    quota: {gpus: [{pool: train, guaranteed: 2}]}
"#,
        correction: Correction::Replace("teams:", "    sharing: {timeSlicing: {replicas: 4, rename: true}}
teams:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    for team in cluster
        .teams
        .iter()
        .filter(|it| !it.grants.iter().any(gpuc_model::Resolved::is_unresolved))
    {
        let mut checked: Vec<&Grant> = Vec::new();
        for grant in team.grants() {
            let is_checked = checked.iter().any(|it| {
                it.namespace == grant.namespace && cluster.are_counted_together(it, grant)
            });
            if !is_checked {
                checked.push(grant);
                check_grant(cluster, team, grant, report);
            }
        }
    }
}

fn check_grant(cluster: &Cluster, team: &Team, grant: &Grant, report: &mut Report) {
    let has_quota_of = |pool: usize| {
        let mut grants = team.grants();
        grants.any(|it| {
            (it.pool, it.namespace) == (pool, grant.namespace)
                && cluster.are_counted_together(it, grant)
        })
    };
    let uncovered_pools: Vec<_> = cluster
        .pools
        .iter()
        .filter(|pool| cluster.counts_devices_of(grant, pool) && !has_quota_of(pool.index))
        .collect();
    let Some(first) = uncovered_pools.first() else {
        return;
    };
    let pool = &cluster.pools[grant.pool];
    let is_dra = !pool.classes.is_empty();
    let message = format!(
        "the quota of `{}` also counts the GPUs of pool `{}`",
        grant.resource, first.name
    );
    let mut builder = report.diagnostic(&RULE.code, grant.span, message);
    builder = builder.label(
        pool.name.span,
        format!("this pool advertises `{}`", grant.resource),
    );
    for other in &uncovered_pools {
        let text = if is_dra {
            format!(
                "a ResourceClaim for `{}` may get GPUs of this pool",
                grant.resource
            )
        } else {
            format!("this pool also advertises `{}`", grant.resource)
        };
        builder = builder.label(other.name.span, text);
    }
    let alternative = if is_dra {
        "set `allocation: devicePlugin` and `queueing: kueue`"
    } else {
        "set `queueing: kueue`, or rename one pool's resource with `sharing`"
    };
    let help = format!(
        "add an entry for `{}` if the team may use it; otherwise {alternative}",
        first.name
    );
    builder.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in, messages_with_id};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2160", teams, expected);
    }

    #[test]
    fn pools_with_the_same_resource_are_found() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}, {pool: infer, guaranteed: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}]}}]\nqueueing: kueue",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}]}}, {name: b, quota: {gpus: [{pool: infer, guaranteed: 1}]}}]",
            &[
                "the quota of `nvidia.com/gpu` also counts the GPUs of pool `infer`",
                "the quota of `nvidia.com/gpu` also counts the GPUs of pool `train`",
            ],
        );
        let alike = |teams: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{allocation: dra, driver: preinstalled}}
                nodePools:
                  - {{name: one, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
                  - {{name: two, gpu: {{model: A30, perNode: 2}}, hosts: [b], nodes: {{count: 1}}}}
                  - {{name: other, gpu: {{model: L4, perNode: 2}}, hosts: [c], nodes: {{count: 1}}}}
                teams: [{{name: a, quota: {{gpus: {teams}}}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2160")
        };
        assert_eq!(
            alike("[{pool: one, guaranteed: 1}]"),
            ["the quota of `one.gpuc.dev` also counts the GPUs of pool `two`"]
        );
        assert!(alike("[{pool: one, guaranteed: 1}, {pool: two, guaranteed: 1}]").is_empty());
        assert!(alike("[{pool: other, guaranteed: 1}]").is_empty());
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 1}]}}, {namespace: c, quota: {gpus: [{pool: infer, guaranteed: 1}]}}]}]",
            &[
                "the quota of `nvidia.com/gpu` also counts the GPUs of pool `infer`",
                "the quota of `nvidia.com/gpu` also counts the GPUs of pool `train`",
            ],
        );
    }
}
