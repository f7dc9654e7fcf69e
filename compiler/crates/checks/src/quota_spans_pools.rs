//! A quota adds up the GPUs of several pools.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2161",
        name: "quota-spans-pools",
        severity: Severity::Warning,
        summary: "a quota adds up the GPUs of several pools",
        checks: "Whether the entries of a quota refer to pools that advertise the same resource, without queues.",
        reason: "A ResourceQuota counts resources such as `nvidia.com/gpu` in all pools. A quota of 16 GPUs of one
pool and 4 of another becomes a quota of 20 GPUs of either pool.",
        remedy: "If this is intended, allow the warning. Otherwise, give the pools different resource names: share
one of them with `rename: true`, or partition it with `strategy: mixed`. Or set `queueing: kueue`,
which counts each pool separately.",
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
    quota: {gpus: [{pool: train, guaranteed: 2}, {pool: infer, guaranteed: 1}]}
"#,
        correction: Correction::Replace("kubernetes:", "allow: [quota-spans-pools]
kubernetes:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    for team in &cluster.teams {
        let grants: Vec<_> = team.grants().collect();
        for (index, grant) in grants.iter().enumerate() {
            let is_counted_with = |it: &&&Grant| {
                it.namespace == grant.namespace && cluster.are_counted_together(it, grant)
            };
            let counted_together: Vec<_> = grants.iter().filter(is_counted_with).copied().collect();
            let is_first = !grants[..index].iter().any(|it| is_counted_with(&it));
            if is_first && counted_together.len() > 1 {
                report_sum(cluster, team, &counted_together, report);
            }
        }
    }
}

fn report_sum(cluster: &Cluster, team: &Team, counted_together: &[&Grant], report: &mut Report) {
    let sum: u64 = counted_together
        .iter()
        .map(|it| u64::from(it.limit.value))
        .sum();
    let resource = &counted_together[0].resource;
    let name = |grant: &&Grant| cluster.pools[grant.pool].name.value.clone();
    let names: Vec<_> = counted_together.iter().map(name).collect();
    let message = format!(
        "the quota of team `{}` is {sum} of `{resource}` in any of {}",
        team.name,
        gpuc_syntax::diag::phrases::quoted_conjunction(&names, "and")
    );
    let mut builder = report.diagnostic(&RULE.code, counted_together[0].span, message);
    for grant in counted_together {
        let pool = &cluster.pools[grant.pool];
        builder = builder.label(
            pool.name.span,
            format!("this pool advertises `{}`", grant.resource),
        );
    }
    let help = "allow it if intended; otherwise set `queueing: kueue`, or rename one pool's resource with `sharing`";
    builder.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2161", teams, expected);
    }

    #[test]
    fn sums_over_pools_are_found() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}, {pool: train, guaranteed: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1, limit: 2}, {pool: turns, shares: 1}, {pool: infer, guaranteed: 3}]}}]",
            &["the quota of team `a` is 5 of `nvidia.com/gpu` in any of `train` and `infer`"],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}, {pool: infer, guaranteed: 3}]}}]\nqueueing: kueue",
            &[],
        );
    }
}
