//! The team or namespace of a workload is invalid.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;
use super::team_namespace_invalid::namespace_owner;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2183",
        name: "workload-team-unclear",
        severity: Severity::Error,
        summary: "the team or namespace of a workload is invalid",
        checks: "Whether the team of a workload is one of `teams`, and its namespace is one of the team's. Whether a
workload in a team's namespace names the team. Whether its namespace belongs to Kubernetes, a chart
or gpuc.",
        reason: "Quotas, queues and permissions apply to namespaces. Outside the namespaces of its team, a workload
would use resources that its quota does not count, or wait for a queue that does not exist. The
namespaces of charts admit privileged pods.",
        remedy: "Write the team. Then write one of its namespaces, or remove `namespace`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("serving", "research"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let team = workload.team.as_ref();
        if let Some(name) = team
            && cluster.team(name).is_none()
        {
            let message = format!("unknown team `{name}`");
            let builder = report.diagnostic(&RULE.code, name.span, message);
            let teams: Vec<_> = cluster
                .teams
                .iter()
                .map(|team| team.name.as_str())
                .collect();
            let help = match teams[..] {
                [] => "remove this key: the configuration has no `teams`".to_owned(),
                _ => one_of_help(&teams),
            };
            builder.help(help).emit();
            continue;
        }
        let Some(namespace) = &workload.namespace else {
            continue;
        };
        // The namespace `default` is managed by Kubernetes but intended for workloads.
        let owner = namespace_owner(cluster, namespace).filter(|_| namespace.as_str() != "default");
        if let Some(owner) = owner {
            let message = format!("the namespace `{namespace}` is used by {owner}");
            report
                .diagnostic(&RULE.code, namespace.span, message)
                .help("write another namespace, or remove `namespace`")
                .emit();
            continue;
        }
        let owns_namespace = |team: &Team| team.namespaces.iter().any(|own| own == namespace);
        let own = team.and_then(|name| cluster.team(name));
        if let Some(own) = own.filter(|own| !owns_namespace(own)) {
            let message = format!("`{namespace}` is not a namespace of team `{}`", own.name);
            let builder = report.diagnostic(&RULE.code, namespace.span, message);
            let builder = builder.label(own.name.span, "the team is defined here");
            let names: Vec<_> = own.namespaces.iter().map(|it| it.as_str()).collect();
            builder.help(one_of_help(&names)).emit();
        }
        let other = cluster.teams.iter().find(|team| owns_namespace(team));
        if let Some(other) = other.filter(|_| team.is_none()) {
            let message = format!(
                "the namespace `{namespace}` belongs to team `{}`",
                other.name
            );
            report
                .diagnostic(&RULE.code, namespace.span, message)
                .label(other.name.span, "this team has the namespace")
                .help(format!("add `team: {}`", other.name))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
            teams: [{name: t, namespaces: [n]}]
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2183", workloads, expected);
    }

    #[test]
    fn invalid_teams_and_namespaces_are_found() {
        let job = "job: {image: 'a:1'}";
        check(&format!("{{name: a, team: t, {job}}}"), &[]);
        check(&format!("{{name: a, team: t, namespace: n, {job}}}"), &[]);
        check(&format!("{{name: a, namespace: other, {job}}}"), &[]);
        check(
            &format!("{{name: a, team: u, {job}}}"),
            &["unknown team `u`"],
        );
        let other = "`m` is not a namespace of team `t`";
        check(
            &format!("{{name: a, team: t, namespace: m, {job}}}"),
            &[other],
        );
        let belongs = "the namespace `n` belongs to team `t`";
        check(&format!("{{name: a, namespace: n, {job}}}"), &[belongs]);
        let owned = [
            ("kube-system", "Kubernetes"),
            ("gpuc-runtime", "gpuc"),
            ("gpu-operator", "a chart"),
        ];
        for (name, owner) in owned {
            let expected = format!("the namespace `{name}` is used by {owner}");
            check(
                &format!("{{name: a, namespace: {name}, {job}}}"),
                &[&expected],
            );
        }
        check(&format!("{{name: a, namespace: default, {job}}}"), &[]);
    }
}
