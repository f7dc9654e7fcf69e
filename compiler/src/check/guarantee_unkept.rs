//! Nobody takes back what others are guaranteed.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nobody takes back what others are guaranteed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2164",
        name: "guarantee-unkept",
        severity: Severity::Warning,
        summary: "nobody takes back what others are guaranteed",
        explain: "### What it checks

Whether all teams together may have no more of a pool than it has at its most nodes, where no queue takes
back what one has beyond its guarantee.

### Why it matters

A `ResourceQuota` is a most and nothing else. What a team has beyond its guarantee it keeps until its
pods end, and those who were guaranteed it wait.

### What to do

Let `queueing: kueue` count: it lends what is idle and takes it back. Or lower the limits, or say
`overcommit: true` in the pool: whoever comes first has the GPUs then.
",
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
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
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 2}]}
  - name: vision
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    for promise in cluster.promises() {
        let pool = &cluster.pools[promise.pool];
        let (kept, limit, most) = (promise.guaranteed(), promise.limit(), promise.most());
        let mut grants = promise.grants.iter();
        let beyond = grants.find(|(_, it)| it.limit.value > it.guaranteed.value);
        let Some((team, grant)) = beyond else {
            continue;
        };
        // A team by itself takes nothing from others; too many guarantees are a finding of their own.
        let others = promise
            .grants
            .iter()
            .filter(|(other, _)| other.index != team.index);
        let others: Vec<_> = others.filter(|(_, it)| it.guaranteed.value > 0).collect();
        let Some((other, promised)) = others.first() else {
            continue;
        };
        if limit <= most || kept > most || pool.written.overcommit.value {
            continue;
        }
        let message = format!(
            "`{}` may take `{}` of pool `{}` that `{}` is guaranteed",
            team.name, promise.resource, pool.name, other.name
        );
        let draft = report.draft(&RULE.code, grant.limit.span, message);
        let draft = draft.label(promised.guaranteed.span, "these are guaranteed");
        let place = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        let draft = draft.label(place, format!("{most} in all; teams may have {limit}"));
        let help = "let `queueing: kueue` take it back, lower the limit, or write `overcommit: true` in the pool";
        draft.help(help).emit();
    }
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
        assert_eq!(messages(&yaml, "GPUC2164"), expected, "{teams}");
    }

    #[test]
    fn guarantees_are_kept() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 2}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &["`a` may take `nvidia.com/gpu.shared` of pool `turns` that `b` is guaranteed"],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1, limit: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]\n            queueing: kueue",
            &[],
        );
    }
}
