//! A workload cannot be of this team or in this namespace.

use super::Rule;
use super::team_namespace_invalid::owner;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::model::Team;

/// A workload cannot be of this team or in this namespace.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2183",
        name: "workload-team-unclear",
        severity: Severity::Error,
        summary: "a workload cannot be of this team or in this namespace",
        explain: "### What it checks

Whether the team that a workload names is one of `teams`, whether the namespace that it names is one
of that team's, and whether a workload in a team's namespace names the team. No workload can be in
a namespace of Kubernetes' own, of a chart or of gpuc.

### Why it matters

Quota, queue and rights belong to namespaces. A workload in another one would use what nobody
gave it, or wait in a queue that is not there. Pods of charts may do what no workload should, and
in their namespaces so may every pod.

### What to do

Name the team, and one of its namespaces or none.
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
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, namespaces: [research]}
workloads:
  - {name: finetune, team: research, namespace: serving, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, namespaces: [research]}
workloads:
  - {name: finetune, team: research, namespace: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let team = workload.team.as_ref();
        if let Some(name) = team
            && cluster.team(name).is_none()
        {
            let message = format!("no team is called `{name}`");
            let draft = report.draft(&RULE.code, name.span, message);
            let teams: Vec<_> = cluster
                .teams
                .iter()
                .map(|team| team.name.as_str())
                .collect();
            let help = match teams[..] {
                [] => "remove it: there are no `teams`".to_owned(),
                _ => one_of(&teams),
            };
            draft.help(help).emit();
            continue;
        }
        let Some(namespace) = &workload.namespace else {
            continue;
        };
        // What everybody may use who names nothing is Kubernetes' own, and yet for workloads.
        let owner = owner(cluster, namespace).filter(|_| namespace.as_str() != "default");
        if let Some(owner) = owner {
            let message = format!("the namespace `{namespace}` is {owner}");
            let draft = report.draft(&RULE.code, namespace.span, message);
            draft.help("write another one, or none").emit();
            continue;
        }
        let has = |team: &Team| team.namespaces.iter().any(|own| own == namespace);
        let own = team.and_then(|name| cluster.team(name));
        if let Some(own) = own.filter(|own| !has(own)) {
            let message = format!("`{namespace}` is no namespace of team `{}`", own.name);
            let draft = report.draft(&RULE.code, namespace.span, message);
            let draft = draft.label(own.name.span, "the team");
            let names: Vec<_> = own.namespaces.iter().map(|it| it.as_str()).collect();
            draft.help(one_of(&names)).emit();
        }
        let other = cluster.teams.iter().find(|team| has(team));
        if let Some(other) = other.filter(|_| team.is_none()) {
            let message = format!("`{namespace}` belongs to team `{}`", other.name);
            let draft = report.draft(&RULE.code, namespace.span, message);
            let draft = draft.label(other.name.span, "the team");
            draft.help(format!("add `team: {}`", other.name)).emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            teams: [{{name: t, namespaces: [n]}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2183"), expected, "{workloads}");
    }

    #[test]
    fn namespaces_are_the_teams_own() {
        let job = "job: {image: 'a:1'}";
        check(&format!("{{name: a, team: t, {job}}}"), &[]);
        check(&format!("{{name: a, team: t, namespace: n, {job}}}"), &[]);
        check(&format!("{{name: a, namespace: other, {job}}}"), &[]);
        check(
            &format!("{{name: a, team: u, {job}}}"),
            &["no team is called `u`"],
        );
        let other = "`m` is no namespace of team `t`";
        check(
            &format!("{{name: a, team: t, namespace: m, {job}}}"),
            &[other],
        );
        let belongs = "`n` belongs to team `t`";
        check(&format!("{{name: a, namespace: n, {job}}}"), &[belongs]);
        let owned = [
            ("kube-system", "Kubernetes' own"),
            ("gpuc-runtime", "kept for gpuc's own"),
            ("gpu-operator", "a chart's"),
        ];
        for (name, whose) in owned {
            let expected = format!("the namespace `{name}` is {whose}");
            check(
                &format!("{{name: a, namespace: {name}, {job}}}"),
                &[&expected],
            );
        }
        check(&format!("{{name: a, namespace: default, {job}}}"), &[]);
    }
}
