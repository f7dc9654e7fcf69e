//! A quota adds up the GPUs of several pools.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Grant, Team};

/// A quota adds up the GPUs of several pools.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2161",
        name: "quota-counts-together",
        severity: Severity::Warning,
        summary: "a quota adds up the GPUs of several pools",
        explain: "### What it checks

Whether the entries of a quota speak of pools whose pods ask for the same name, where no queue tells
pools apart.

### Why it matters

A `ResourceQuota` counts names such as `nvidia.com/gpu`, wherever the pod runs: 16 of one pool and 4 of
another become 20 of either.

### What to do

If that is well, allow the warning. Else have the names differ: share one of the pools with `rename:
true`, or cut it into slices with `strategy: mixed`; or let `queueing: kueue` count, which knows pools.
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
    quota: {gpus: [{pool: train, guaranteed: 2}, {pool: infer, guaranteed: 1}]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [quota-counts-together]
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
    quota: {gpus: [{pool: train, guaranteed: 2}, {pool: infer, guaranteed: 1}]}
"#,
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
            let same = |it: &&&Grant| {
                it.namespace == grant.namespace && cluster.are_counted_together(it, grant)
            };
            let alike: Vec<_> = grants.iter().filter(same).copied().collect();
            let is_first = !grants[..index].iter().any(|it| same(&it));
            if is_first && alike.len() > 1 {
                say(cluster, team, &alike, report);
            }
        }
    }
}

fn say(cluster: &Cluster, team: &Team, alike: &[&Grant], report: &mut Report) {
    let sum: u64 = alike.iter().map(|it| u64::from(it.limit.value)).sum();
    let resource = &alike[0].resource;
    let name = |grant: &&Grant| cluster.pools[grant.pool].name.value.clone();
    let names: Vec<_> = alike.iter().map(name).collect();
    let message = format!(
        "the quota of `{}` is {sum} of `{resource}` on whichever of {}",
        team.name,
        crate::diag::words::all(&names, "and")
    );
    let mut draft = report.draft(&RULE.code, alike[0].span, message);
    for grant in alike {
        let pool = &cluster.pools[grant.pool];
        draft = draft.label(pool.name.span, format!("offers `{}`", grant.resource));
    }
    let help = "allow it if that is well, else let `queueing: kueue` count, or give one a name of its own by `sharing`";
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
        assert_eq!(messages(&yaml, "GPUC2161"), expected, "{teams}");
    }

    #[test]
    fn sums_over_pools_are_said() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}, {pool: train, guaranteed: 1}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1, limit: 2}, {pool: turns, shares: 1}, {pool: infer, guaranteed: 3}]}}]",
            &["the quota of `a` is 5 of `nvidia.com/gpu` on whichever of `train` and `infer`"],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}, {pool: infer, guaranteed: 3}]}}]\n            queueing: kueue",
            &[],
        );
    }
}
