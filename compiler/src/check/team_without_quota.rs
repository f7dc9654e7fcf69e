//! A team may take all that others are guaranteed.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Grant, Team};

/// A team may take all that others are guaranteed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2166",
        name: "team-without-quota",
        severity: Severity::Warning,
        summary: "a team may take all that others are guaranteed",
        explain: "### What it checks

Whether every namespace of every team has a quota of GPUs, where other teams are guaranteed some and no
queue keeps them.

### Why it matters

What has no quota is not limited: one job in such a namespace takes the GPUs that others were promised.

### What to do

Give the team a quota; an entry with `guaranteed: 0` gives none of a pool.
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
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
  - name: vision
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
  - name: vision
    quota: {gpus: [{pool: gpu, guaranteed: 0}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.has_queues() {
        return;
    }
    let promises = cluster.promises();
    for team in &cluster.teams {
        // A quota that counts nothing over several namespaces is a finding of its own.
        let whole = team.written.quota.as_ref();
        if whole.is_some_and(|it| !it.gpus.is_empty()) {
            continue;
        }
        let open = (0..team.namespaces.len()).find(|index| {
            let quota = team.quota_of(*index);
            quota.is_none_or(|quota| quota.gpus.is_empty())
        });
        // What another namespace of the same team is guaranteed is not this one's either.
        let mut others = promises.iter().flat_map(|it| &it.grants);
        let other = others.find(|(_, grant)| grant.guaranteed.value > 0);
        if let Some((index, (other, grant))) = open.zip(other) {
            let name = &team.namespaces[index];
            let message = format!(
                "nothing limits the GPUs of `{name}`, so that it may take what `{}` is guaranteed",
                holder(team, other, grant)
            );
            let draft = report.draft(&RULE.code, name.span, message);
            let draft = draft.label(grant.span, "this is guaranteed");
            let help =
                "add a quota with `gpus`; an entry with `guaranteed: 0` gives none of a pool";
            draft.help(help).emit();
        }
    }
}

/// Whose a guarantee is: another team's, or that of another namespace of the same one.
fn holder<'t>(team: &Team, other: &'t Team, grant: &Grant) -> &'t str {
    let own = grant.namespace.filter(|_| other.index == team.index);
    own.map_or(other.name.as_str(), |index| {
        other.namespaces[index].as_str()
    })
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
        assert_eq!(messages(&yaml, "GPUC2166"), expected, "{teams}");
    }

    #[test]
    fn whoever_is_without_a_quota_is_named() {
        check("teams: [{name: a}, {name: b, quota: {cpu: 4}}]", &[]);
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}, {name: b, quota: {gpus: [{pool: turns, shares: 0}]}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {gpus: [{pool: turns, shares: 1}]}}, {name: b, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: turns, shares: 0}]}}]}]",
            &["nothing limits the GPUs of `c`, so that it may take what `a` is guaranteed"],
        );
        check(
            "teams: [{name: a, namespaces: [b, c], namespaceQuotas: [{namespace: b, quota: {gpus: [{pool: turns, shares: 1}]}}]}]",
            &["nothing limits the GPUs of `c`, so that it may take what `b` is guaranteed"],
        );
    }
}
