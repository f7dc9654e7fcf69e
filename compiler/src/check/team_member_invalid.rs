//! A member of a team is nobody, or everybody.

use super::Rule;
use super::syntax::{is_dns_label, is_dns_subdomain};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use gpuc_schema::Spanned;
use gpuc_schema::config::Member;

/// A member of a team is nobody, or everybody.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2156",
        name: "team-member-invalid",
        severity: Severity::Error,
        summary: "a member of a team is nobody, or everybody",
        explain: "### What it checks

Whether each member has exactly one of `group`, `user` and `serviceAccount`, is there once in its
team, and is none of those that Kubernetes names itself, as `system:authenticated`.

### Why it matters

`system:authenticated` is everybody who can log in, `system:masters` may do everything already. A
service account is written as one, so that its namespace is seen.

### What to do

Write the group or user as your identity provider names it; a service account as namespace and name,
`tools:ci`.
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
    members: [{group: "system:authenticated"}]
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
    members: [{group: research@acme.dev}]
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let members = &team.written.members;
        for (index, member) in members.iter().enumerate() {
            look(&team.namespaces[0], member, &members[..index], report);
        }
    }
}

fn look(
    namespace: &str,
    member: &Spanned<Member>,
    before: &[Spanned<Member>],
    report: &mut Report,
) {
    let names = [&member.group, &member.user, &member.service_account];
    let written: Vec<_> = names.into_iter().flatten().collect();
    let [name] = written[..] else {
        if report.error_inside(member.span).is_some() {
            return;
        }
        let message = if written.is_empty() {
            "a member is nobody"
        } else {
            "a member is several at once"
        };
        let draft = report.draft(&RULE.code, member.span, message);
        let help = "write one of `group`, `user` and `serviceAccount` for each member";
        draft.help(help).emit();
        return;
    };
    let same = before.iter().find(|it| {
        (&it.group, &it.user, account(it, namespace))
            == (&member.group, &member.user, account(member, namespace))
    });
    let (message, help) = if name.trim().is_empty() {
        ("a member has no name".to_owned(), "write the name")
    } else if member.service_account.is_some() && !is_account(name) {
        let message = format!("no service account is called `{name}`");
        (message, "write namespace and name: `tools:ci`")
    } else if name.starts_with("system:") {
        let message = format!("`{name}` is one of Kubernetes' own, not of a team");
        let help = if name.starts_with("system:serviceaccount:") {
            "write it as `serviceAccount`, with namespace and name: `tools:ci`"
        } else {
            "write a group or a user of your identity provider"
        };
        (message, help)
    } else if let Some(same) = same {
        let message = format!("`{name}` is a member twice");
        let draft = report.draft(&RULE.code, name.span, message);
        let draft = draft.label(same.span, "here first");
        draft.help("keep one, with the higher role").emit();
        return;
    } else {
        return;
    };
    report
        .draft(&RULE.code, name.span, message)
        .help(help)
        .emit();
}

/// A service account's namespace and name; it is in the team's first namespace where it does not say.
fn account<'m>(member: &'m Member, namespace: &'m str) -> Option<(&'m str, &'m str)> {
    let name = member.service_account.as_ref()?.as_str();
    Some(name.split_once(':').unwrap_or((namespace, name)))
}

fn is_account(name: &str) -> bool {
    match name.split_once(':') {
        Some((namespace, name)) => is_dns_label(namespace) && is_dns_subdomain(name),
        None => is_dns_subdomain(name),
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
        assert_eq!(messages(&yaml, "GPUC2156"), expected, "{teams}");
    }

    #[test]
    fn members_are_somebody() {
        check(
            "teams: [{name: a, members: [{group: a@b}, {user: a@b}, {serviceAccount: ci}, {serviceAccount: 'x:ci'}]}]",
            &[],
        );
        check(
            "teams: [{name: a, members: [{}, {group: a, user: b}, {user: ' '}, {group: 'system:masters'}, {user: 'system:serviceaccount:a:b'}, {serviceAccount: 'a/b'}, {user: c, role: view}, {user: c}, {serviceAccount: ci}, {serviceAccount: 'a:ci'}, {serviceAccount: 'b:ci'}]}]",
            &[
                "a member is nobody",
                "a member is several at once",
                "a member has no name",
                "`system:masters` is one of Kubernetes' own, not of a team",
                "`system:serviceaccount:a:b` is one of Kubernetes' own, not of a team",
                "no service account is called `a/b`",
                "`c` is a member twice",
                "`a:ci` is a member twice",
            ],
        );
    }
}
