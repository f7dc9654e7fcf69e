//! A team has a quota of a pool that is kept for others.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A team has a quota of a pool that is kept for others.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2168",
        name: "quota-pool-dedicated",
        severity: Severity::Warning,
        summary: "a team has a quota of a pool that is kept for others",
        explain: "### What it checks

Whether a team that may use GPUs of a pool with `dedicatedTo` is the one that is named there.

### Why it matters

The pool's taint keeps everybody off who does not tolerate it: the team's jobs wait for GPUs that they
were promised, beside a quota that says they may have them.

### What to do

Dedicate the pool to the team, or to nobody; or remove the quota. Allow the finding where the team's
pods tolerate the taint by themselves.
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
    dedicatedTo: vision
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
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
    dedicatedTo: research
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        for grant in team.grants().filter(|it| it.limit.value > 0) {
            let pool = &cluster.pools[grant.pool];
            let whom = pool.written.dedicated_to.as_ref();
            let Some(whom) = whom.filter(|whom| **whom != team.name) else {
                continue;
            };
            let message = format!(
                "`{}` has a quota of pool `{}`, which is dedicated to `{whom}`",
                team.name, pool.name
            );
            let draft = report.draft(&RULE.code, grant.span, message);
            let is_team = cluster.teams.iter().any(|it| it.name == *whom);
            let text = if is_team {
                "kept for another team"
            } else {
                "no team is called so"
            };
            let draft = draft.label(whom.span, text);
            let help = format!(
                "write `dedicatedTo: {}`, or remove one of the two; allow it where the team's pods tolerate the taint",
                team.name
            );
            draft.help(help).emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn dedicated_pools_are_their_teams() {
        let found = |teams: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, dedicatedTo: a}}]
                teams: {teams}
                "
            );
            messages(&yaml, "GPUC2168")
        };
        assert!(found("[{name: a, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}]").is_empty());
        assert!(found("[{name: b, quota: {gpus: [{pool: gpu, guaranteed: 0}]}}]").is_empty());
        assert_eq!(
            found("[{name: b, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}]"),
            ["`b` has a quota of pool `gpu`, which is dedicated to `a`"]
        );
    }
}
