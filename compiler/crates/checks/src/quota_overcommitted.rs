//! The guarantees of a pool exceed its capacity.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant};
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2162",
        name: "quota-overcommitted",
        severity: Severity::Error,
        summary: "the guarantees of a pool exceed its capacity",
        checks: "Whether the guarantees of all teams in a pool are at most its capacity at its maximum node count:
GPUs, MIG devices of each profile, or replicas.",
        reason: "Guarantees beyond the capacity cannot be met. The last team waits for nodes that the pool never
gets.",
        remedy: "Lower the guarantees, raise the pool's maximum node count, or set `overcommit: true` in the pool:
then GPUs are allocated first come, first served.",
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
    quota: {gpus: [{pool: gpu, guaranteed: 5}]}
"#,
        correction: Correction::Replace("guaranteed: 5", "guaranteed: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for total in cluster.quota_totals() {
        let pool = &cluster.pools[total.pool];
        let (sum, max) = (total.guaranteed(), total.max_total());
        if sum <= max || pool.settings.overcommit.value {
            continue;
        }
        // The first guarantee that exceeds the capacity.
        let mut so_far = 0;
        let beyond = total.grants.iter().find(|(_, grant)| {
            so_far += u64::from(grant.guaranteed.value);
            so_far > max
        });
        let Some((_, grant)) = beyond else {
            continue;
        };
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let message = format!(
            "teams are guaranteed {sum} {} `{}` of pool `{}`, which has at most {max}",
            total.unit.plural(),
            total.resource,
            pool.name
        );
        let mut builder = report.diagnostic(&RULE.code, grant.guaranteed.span, message);
        let per_node = format!(
            "{} on each of {}",
            grant.per_node,
            pluralize(nodes.max, "node")
        );
        builder = builder.label(nodes.max_span, per_node);
        let others = total.grants.iter();
        let is_other = |it: &Grant| it.span != grant.span && it.guaranteed.value > 0;
        for (team, other) in others.filter(|(_, it)| is_other(it)) {
            let text = format!("{} for team `{}`", other.guaranteed, team.name);
            builder = builder.label(other.guaranteed.span, text);
        }
        let excess = sum - max;
        let key = if nodes.min_span == nodes.max_span {
            "nodes.count"
        } else {
            "nodes.max"
        };
        let help = format!(
            "lower the guarantees by {excess}, raise `{key}`, or set `overcommit: true` in the pool"
        );
        builder.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use gpuc_model::Unit;

    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2162", teams, expected);
    }

    #[test]
    fn guarantees_beyond_the_capacity_are_found() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 2}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2, limit: 4}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &[&format!(
                "teams are guaranteed 5 {} `nvidia.com/gpu.shared` of pool `turns`, which has at most 4",
                Unit::Replica.plural()
            )],
        );
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 2}]}}, {namespace: c, quota: {gpus: [{pool: train, guaranteed: 2}]}}]}]",
            &["teams are guaranteed 4 GPUs `nvidia.com/gpu` of pool `train`, which has at most 2"],
        );
    }
}
