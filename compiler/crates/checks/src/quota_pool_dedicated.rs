//! A team has a quota of a pool that is dedicated to another team.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2168",
        name: "quota-pool-dedicated",
        severity: Severity::Warning,
        summary: "a team has a quota of a pool that is dedicated to another team",
        checks: "Whether a pool with `dedicatedTo` is dedicated to the teams that have a quota of it.",
        reason: "The pool's taint repels all pods that do not tolerate it. The team's jobs stay pending although its
quota allows the GPUs.",
        remedy: "Dedicate the pool to the team, remove `dedicatedTo`, or remove the quota. Allow the warning if the
team's pods set the toleration themselves.",
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
    dedicatedTo: vision
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
"#,
        correction: Correction::Replace("dedicatedTo: vision", "dedicatedTo: research"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        for grant in team.grants().filter(|it| it.limit.value > 0) {
            let pool = &cluster.pools[grant.pool];
            let dedicated_to = pool.settings.dedicated_to.as_ref();
            let Some(owner) = dedicated_to.filter(|owner| **owner != team.name) else {
                continue;
            };
            let message = format!(
                "team `{}` has a quota of pool `{}`, which is dedicated to `{owner}`",
                team.name, pool.name
            );
            let is_team = cluster.teams.iter().any(|it| it.name == *owner);
            let text = if is_team {
                "dedicated to another team"
            } else {
                "this is not the name of a team"
            };
            let help = format!(
                "set `dedicatedTo: {}`, or remove one of the two; allow it if the team's pods tolerate the taint",
                team.name
            );
            report
                .diagnostic(&RULE.code, grant.span, message)
                .label(owner.span, text)
                .help(help)
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn quota_of_another_teams_pool_is_found() {
        let found = |teams: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, dedicatedTo: a}}]
                teams: {teams}
                "
            );
            messages_with_id(&yaml, "GPUC2168")
        };
        assert!(found("[{name: a, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}]").is_empty());
        assert!(found("[{name: b, quota: {gpus: [{pool: gpu, guaranteed: 0}]}}]").is_empty());
        assert_eq!(
            found("[{name: b, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}]"),
            ["team `b` has a quota of pool `gpu`, which is dedicated to `a`"]
        );
    }
}
