//! Teams are promised more than a pool can hold.

use super::Rule;
use crate::diag::words::counted;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Grant};

/// Teams are promised more than a pool can hold.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2162",
        name: "quota-overcommitted",
        severity: Severity::Error,
        summary: "teams are promised more than a pool can hold",
        explain: "### What it checks

Whether what all teams are guaranteed of a pool is no more than it has at its most nodes: GPUs, slices
of each profile, or shares.

### Why it matters

A guarantee that cannot be kept is none. Who comes last waits for nodes that the pool never gets.

### What to do

Promise less, let the pool grow, or say `overcommit: true` in the pool: whoever comes first has the GPUs
then.
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
    quota: {gpus: [{pool: gpu, guaranteed: 5}]}
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
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for promise in cluster.promises() {
        let pool = &cluster.pools[promise.pool];
        let (sum, most) = (promise.guaranteed(), promise.most());
        if sum <= most || pool.written.overcommit.value {
            continue;
        }
        // The first one that does not fit.
        let mut before = 0;
        let beyond = promise.grants.iter().find(|(_, grant)| {
            before += u64::from(grant.guaranteed.value);
            before > most
        });
        let Some((_, grant)) = beyond else {
            continue;
        };
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let message = format!(
            "teams are promised {sum} {} `{}` of pool `{}`, which has at most {most}",
            promise.unit.words(),
            promise.resource,
            pool.name
        );
        let mut draft = report.draft(&RULE.code, grant.guaranteed.span, message);
        let per_node = format!(
            "{} on each of {}",
            grant.per_node,
            counted(nodes.max, "node")
        );
        draft = draft.label(nodes.max_span, per_node);
        let others = promise.grants.iter();
        let is_other = |it: &Grant| it.span != grant.span && it.guaranteed.value > 0;
        for (team, other) in others.filter(|(_, it)| is_other(it)) {
            let text = format!("{} for `{}`", other.guaranteed, team.name);
            draft = draft.label(other.guaranteed.span, text);
        }
        let over = sum - most;
        let help = format!(
            "promise {over} less, let the pool grow, or write `overcommit: true` in the pool"
        );
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
        assert_eq!(messages(&yaml, "GPUC2162"), expected, "{teams}");
    }

    #[test]
    fn no_pool_is_promised_twice() {
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 2}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2, limit: 4}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 3}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 2}]}}]",
            &[
                "teams are promised 5 shares `nvidia.com/gpu.shared` of pool `turns`, which has at most 4",
            ],
        );
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: train, guaranteed: 2}]}}, {namespace: c, quota: {gpus: [{pool: train, guaranteed: 2}]}}]}]",
            &["teams are promised 4 GPUs `nvidia.com/gpu` of pool `train`, which has at most 2"],
        );
    }
}
