//! A quota limit exceeds the capacity of a pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2163",
        name: "quota-limit-unreachable",
        severity: Severity::Warning,
        summary: "a quota limit exceeds the capacity of a pool",
        checks: "Whether the `limit` of each quota is at most the capacity of the pool at its maximum node count, if
it is higher than the guarantee. With queues, the GPUs that other teams lend and those that are not
guaranteed must be enough to borrow that many.",
        reason: "The limit is never reached. Readers of the configuration may rely on GPUs that do not exist.",
        remedy: "Lower the limit to at most the capacity of the pool. Remove `limit` if it equals the guarantee.",
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
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 5}]}
"#,
        correction: Correction::Replace("limit: 5", "limit: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for total in cluster.quota_totals() {
        let pool = &cluster.pools[total.pool];
        let max = total.max_total();
        for (team, grant) in &total.grants {
            let (guaranteed, limit) = (grant.guaranteed.value, grant.limit.value);
            // Another rule reports guarantees beyond the capacity.
            if limit <= guaranteed || pool.settings.overcommit.value {
                continue;
            }
            if u64::from(limit) > max {
                let message = format!(
                    "the limit of {} `{}` exceeds the capacity of pool `{}`",
                    grant.limit, grant.resource, pool.name
                );
                let max_span = pool
                    .nodes
                    .get()
                    .map_or(pool.name.span, |nodes| nodes.max_span);
                report
                    .diagnostic(&RULE.code, grant.limit.span, message)
                    .label(
                        max_span,
                        format!("the pool has {max} at its maximum node count"),
                    )
                    .help(format!("write at most {max}"))
                    .emit();
                continue;
            }
            let reachable = if cluster.has_queues() {
                total.max_reachable(team, grant)
            } else {
                grant.limit.value.into()
            };
            if reachable < limit.into() {
                let message = format!(
                    "team `{}` cannot reach its limit of {limit} `{}` in pool `{}`",
                    team.name, grant.resource, pool.name
                );
                let mut builder = report.diagnostic(&RULE.code, grant.limit.span, message);
                let lent_by_others = total
                    .grants
                    .iter()
                    .filter(|(other, _)| other.index != team.index)
                    .filter_map(|(other, it)| Some((other, it.lend?)));
                for (other, lend) in lent_by_others {
                    let label = format!("team `{}` lends at most {lend}", other.name);
                    builder = builder.label(lend.span, label);
                }
                let help = if reachable > guaranteed.into() {
                    format!("write at most {reachable}, or raise `lend` of other teams")
                } else {
                    "remove `limit`, or raise `lend` of other teams".to_owned()
                };
                builder.help(help).emit();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2163", teams, expected);
    }

    #[test]
    fn limits_beyond_the_capacity_are_found() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 2, limit: 4}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 9}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, limit: 5}]}}]",
            &["the limit of 5 `nvidia.com/gpu.shared` exceeds the capacity of pool `turns`"],
        );
    }

    #[test]
    fn limits_beyond_the_lent_gpus_are_found() {
        let teams = |limit: u32, lend: u32| {
            format!(
                "teams: [{{name: a, quota: {{gpus: [{{pool: infer, guaranteed: 1, limit: {limit}}}]}}}}, \
                 {{name: b, quota: {{gpus: [{{pool: infer, guaranteed: 2, lend: {lend}}}]}}}}]"
            )
        };
        // One GPU is not guaranteed.
        let queued = |limit, lend| format!("{}\nqueueing: kueue", teams(limit, lend));
        check(&queued(2, 0), &[]);
        check(
            &queued(3, 0),
            &["team `a` cannot reach its limit of 3 `nvidia.com/gpu` in pool `infer`"],
        );
        check(&queued(3, 1), &[]);
        check(
            &queued(4, 1),
            &["team `a` cannot reach its limit of 4 `nvidia.com/gpu` in pool `infer`"],
        );
        check(&queued(4, 2), &[]);
        check(&teams(4, 0), &[]);
    }
}
