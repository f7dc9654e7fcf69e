//! A quota cannot tell a pool from another one.

use super::Rule;
use super::places::offering;
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
the team was not given count as well, and so it may use these instead.

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
        let mut said: Vec<(Option<usize>, &str)> = Vec::new();
        for grant in team.grants() {
            let key = (grant.namespace, grant.quota_name.as_str());
            if !said.contains(&key) {
                said.push(key);
                look(cluster, team, grant, report);
            }
        }
    }
}

fn look(cluster: &Cluster, team: &Team, grant: &Grant, report: &mut Report) {
    let has = |pool: usize| {
        let mut own = team.grants();
        own.any(|it| {
            (it.pool, it.namespace, &it.quota_name) == (pool, grant.namespace, &grant.quota_name)
        })
    };
    let others = offering(cluster, &grant.quota_name);
    let others: Vec<_> = others.filter(|pool| !has(pool.index)).collect();
    let Some(first) = others.first() else {
        return;
    };
    let pool = &cluster.pools[grant.pool];
    let message = format!(
        "a quota of `{}` counts the GPUs of pool `{}` as well",
        grant.resource, first.name
    );
    let mut draft = report.draft(&RULE.code, grant.span, message);
    draft = draft.label(pool.name.span, format!("offers `{}`", grant.resource));
    for other in &others {
        draft = draft.label(other.name.span, format!("offers `{}` too", grant.resource));
    }
    let help = format!(
        "add an entry for `{}` if the team may use it, else let `queueing: kueue` count, or give one a name of its own \
         by `sharing`",
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
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 1}]}}, {namespace: c, quota: {gpus: [{pool: infer, guaranteed: 1}]}}]}]",
            &[
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `infer` as well",
                "a quota of `nvidia.com/gpu` counts the GPUs of pool `train` as well",
            ],
        );
    }
}
