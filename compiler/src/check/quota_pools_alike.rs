//! A quota cannot tell a pool from another one.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Grant, Team};

/// A quota cannot tell a pool from another one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2160",
        name: "quota-pools-alike",
        severity: Severity::Error,
        summary: "a quota cannot tell a pool from another one",
        explain: "### What it checks

Whether a team that may use a pool's GPUs has them of every pool whose pods ask for the same name, where
no queue tells pools apart.

### Why it matters

A `ResourceQuota` counts names such as `nvidia.com/gpu`, wherever the pod runs. GPUs of the pool that
the team was not given count as well, and so it may use these instead. Where pods claim GPUs, a class
looks at the card alone: the class of one pool takes GPUs of another pool with the same card.

### What to do

Add an entry for the other pool, if the team may use it. Else have the names differ: share one of the
pools with `rename: true`, or cut it into slices with `strategy: mixed`; or let `queueing: kueue` count,
which knows pools.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    sharing: {timeSlicing: {replicas: 4, rename: true}}
teams:
  - name: research
    quota: {gpus: [{pool: train, guaranteed: 2}]}
"#,
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
        .filter(|it| !it.grants.iter().any(crate::model::Known::is_hole))
    {
        let mut said: Vec<&Grant> = Vec::new();
        for grant in team.grants() {
            let is_said = said.iter().any(|it| {
                it.namespace == grant.namespace && cluster.are_counted_together(it, grant)
            });
            if !is_said {
                said.push(grant);
                look(cluster, team, grant, report);
            }
        }
    }
}

fn look(cluster: &Cluster, team: &Team, grant: &Grant, report: &mut Report) {
    let has = |pool: usize| {
        let mut own = team.grants();
        own.any(|it| {
            (it.pool, it.namespace) == (pool, grant.namespace)
                && cluster.are_counted_together(it, grant)
        })
    };
    let others = cluster.pools.iter();
    let others = others.filter(|pool| cluster.is_counted_with(grant, pool));
    let others: Vec<_> = others.filter(|pool| !has(pool.index)).collect();
    let Some(first) = others.first() else {
        return;
    };
    let pool = &cluster.pools[grant.pool];
    let is_claimed = !pool.classes.is_empty();
    let message = format!(
        "a quota of `{}` counts the GPUs of pool `{}` as well",
        grant.resource, first.name
    );
    let mut draft = report.draft(&RULE.code, grant.span, message);
    draft = draft.label(pool.name.span, format!("offers `{}`", grant.resource));
    for other in &others {
        let text = if is_claimed {
            format!("a claim of `{}` may get these", grant.resource)
        } else {
            format!("offers `{}` too", grant.resource)
        };
        draft = draft.label(other.name.span, text);
    }
    let otherwise = if is_claimed {
        "write `allocation: devicePlugin` and let `queueing: kueue` count"
    } else {
        "let `queueing: kueue` count, or give one a name of its own by `sharing`"
    };
    let help = format!(
        "add an entry for `{}` if the team may use it, else {otherwise}",
        first.name
    );
    draft.help(help).emit();
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
        assert_eq!(messages(&yaml, "GPUC2160"), expected, "{teams}");
    }

    #[test]
    fn pools_with_names_of_their_own_are_told_apart() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}, {pool: infer, guaranteed: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}]}}]\n            queueing: kueue",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}]}}, {name: b, quota: {gpus: [{pool: infer, guaranteed: 1}]}}]",
            &[
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `infer` as well",
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `train` as well",
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
            messages(&yaml, "GPUC2160")
        };
        assert_eq!(
            alike("[{pool: one, guaranteed: 1}]"),
            ["a quota of `one.gpuc.dev` counts the GPUs of pool `two` as well"]
        );
        assert!(alike("[{pool: one, guaranteed: 1}, {pool: two, guaranteed: 1}]").is_empty());
        assert!(alike("[{pool: other, guaranteed: 1}]").is_empty());
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 1}]}}, {namespace: c, quota: {gpus: [{pool: infer, guaranteed: 1}]}}]}]",
            &[
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `infer` as well",
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `train` as well",
            ],
        );
    }
}
