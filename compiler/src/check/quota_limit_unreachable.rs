//! A team may have more than a pool can hold.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A team may have more than a pool can hold.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2163",
        name: "quota-limit-unreachable",
        severity: Severity::Warning,
        summary: "a team may have more than a pool can hold",
        explain: "### What it checks

Whether the `limit` of each quota, where it is more than what is guaranteed, is no more than the pool has
at its most nodes; in queues, also whether what other teams lend and what is kept for nobody is enough
to borrow that much.

### Why it matters

The number is never reached: somebody who reads it counts on GPUs that there are not.

### What to do

Write at most what the pool has; leave `limit` out where it is what is guaranteed.
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
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 5}]}
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
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 4}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for promise in cluster.promises() {
        let pool = &cluster.pools[promise.pool];
        let most = promise.most();
        for (team, grant) in &promise.grants {
            let (kept, limit) = (grant.guaranteed.value, grant.limit.value);
            // What is guaranteed beyond it is a finding of its own.
            if limit <= kept || pool.written.overcommit.value {
                continue;
            }
            if u64::from(limit) > most {
                let message = format!(
                    "pool `{}` never has {} of `{}`",
                    pool.name, grant.limit, grant.resource
                );
                let draft = report.draft(&RULE.code, grant.limit.span, message);
                let place = pool.nodes.get().map(|nodes| nodes.max_span);
                let place = place.unwrap_or(pool.name.span);
                let draft = draft.label(place, format!("at its most nodes it has {most}"));
                draft.help(format!("write at most {most}")).emit();
                continue;
            }
            let reachable = cluster.reachable(team, grant);
            if reachable < limit.into() {
                let message = format!(
                    "team `{}` never has {limit} of `{}` in pool `{}`",
                    team.name, grant.resource, pool.name
                );
                let mut draft = report.draft(&RULE.code, grant.limit.span, message);
                let others = promise.grants.iter();
                let others = others.filter(|(other, _)| other.index != team.index);
                for (other, lend) in others.filter_map(|(other, it)| Some((other, it.lend?))) {
                    let label = format!("team `{}` lends no more than {lend}", other.name);
                    draft = draft.label(lend.span, label);
                }
                let help = if reachable > kept.into() {
                    format!("write at most {reachable}, or let others lend more")
                } else {
                    "remove it, or let others lend more".to_owned()
                };
                draft.help(help).emit();
            }
        }
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
        assert_eq!(messages(&yaml, "GPUC2163"), expected, "{teams}");
    }

    #[test]
    fn limits_can_be_reached() {
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
            &["pool `turns` never has 5 of `nvidia.com/gpu.shared`"],
        );
    }

    #[test]
    fn what_nobody_lends_is_not_reached() {
        let of = |limit: u32, lend: u32| {
            format!(
                "teams: [{{name: a, quota: {{gpus: [{{pool: infer, guaranteed: 1, limit: {limit}}}]}}}}, \
                 {{name: b, quota: {{gpus: [{{pool: infer, guaranteed: 2, lend: {lend}}}]}}}}]"
            )
        };
        // One GPU is kept for nobody.
        let queued = |limit, lend| format!("{}\n            queueing: kueue", of(limit, lend));
        check(&queued(2, 0), &[]);
        check(
            &queued(3, 0),
            &["team `a` never has 3 of `nvidia.com/gpu` in pool `infer`"],
        );
        check(&queued(3, 1), &[]);
        check(
            &queued(4, 1),
            &["team `a` never has 4 of `nvidia.com/gpu` in pool `infer`"],
        );
        check(&queued(4, 2), &[]);
        check(&of(4, 0), &[]);
    }
}
