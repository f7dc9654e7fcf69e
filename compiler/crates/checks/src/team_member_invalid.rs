//! A member of a team is invalid.

use gpuc_kubernetes::names::{is_dns_label, is_dns_subdomain};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::Member;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2156",
        name: "team-member-invalid",
        severity: Severity::Error,
        summary: "a member of a team is invalid",
        checks: "Whether each member sets exactly one of `group`, `user` and `serviceAccount`, appears once in its
team, and is not a name that Kubernetes reserves, such as `system:authenticated`.",
        reason: "`system:authenticated` includes everyone who can log in, and `system:masters` already has all
permissions. A service account must be given as `serviceAccount`, so that its namespace is explicit.",
        remedy: "Write the group or user as your identity provider names it. Write a service account as namespace and
name: `tools:ci`.",
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
teams:
  - name: research
    members: [{group: "system:authenticated"}]
"#,
        correction: Correction::Replace(r#""system:authenticated""#, "research@acme.dev"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let members = &team.settings.members;
        for (index, member) in members.iter().enumerate() {
            check_member(&team.namespaces[0], member, &members[..index], report);
        }
    }
}

fn check_member(
    namespace: &str,
    member: &Spanned<Member>,
    previous: &[Spanned<Member>],
    report: &mut Report,
) {
    let names = [&member.group, &member.user, &member.service_account];
    let written: Vec<_> = names.into_iter().flatten().collect();
    let [name] = written[..] else {
        if report.error_inside(member.span).is_some() {
            return;
        }
        let message = if written.is_empty() {
            "a member sets none of `group`, `user` and `serviceAccount`"
        } else {
            "a member sets several of `group`, `user` and `serviceAccount`"
        };
        let help = "set one of `group`, `user` and `serviceAccount` for each member";
        report
            .diagnostic(&RULE.code, member.span, message)
            .help(help)
            .emit();
        return;
    };
    let same = previous.iter().find(|it| {
        (&it.group, &it.user, split_service_account(it, namespace))
            == (
                &member.group,
                &member.user,
                split_service_account(member, namespace),
            )
    });
    let (message, help) = if name.trim().is_empty() {
        ("the name of a member is empty".to_owned(), "write the name")
    } else if member.service_account.is_some() && !is_service_account_name(name) {
        let message = format!("invalid service account name `{name}`");
        (message, "write namespace and name: `tools:ci`")
    } else if name.starts_with("system:") {
        let message = format!("the member `{name}` is reserved for Kubernetes");
        let help = if name.starts_with("system:serviceaccount:") {
            "write it as `serviceAccount`, with namespace and name: `tools:ci`"
        } else {
            "write a group or a user of your identity provider"
        };
        (message, help)
    } else if let Some(same) = same {
        let message = format!("duplicate member `{name}`");
        report
            .diagnostic(&RULE.code, name.span, message)
            .label(same.span, "the first entry")
            .help("remove one of the entries, and keep the higher role")
            .emit();
        return;
    } else {
        return;
    };
    report
        .diagnostic(&RULE.code, name.span, message)
        .help(help)
        .emit();
}

/// A service account's namespace and name. The default namespace is the team's first one.
fn split_service_account<'m>(member: &'m Member, namespace: &'m str) -> Option<(&'m str, &'m str)> {
    let name = member.service_account.as_ref()?.as_str();
    Some(name.split_once(':').unwrap_or((namespace, name)))
}

fn is_service_account_name(name: &str) -> bool {
    match name.split_once(':') {
        Some((namespace, name)) => is_dns_label(namespace) && is_dns_subdomain(name),
        None => is_dns_subdomain(name),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2156", teams, expected);
    }

    #[test]
    fn invalid_members_are_found() {
        check(
            "teams: [{name: a, members: [{group: a@b}, {user: a@b}, {serviceAccount: ci}, {serviceAccount: 'x:ci'}]}]",
            &[],
        );
        check(
            "teams: [{name: a, members: [{}, {group: a, user: b}, {user: ' '}, {group: 'system:masters'}, {user: 'system:serviceaccount:a:b'}, {serviceAccount: 'a/b'}, {user: c, role: view}, {user: c}, {serviceAccount: ci}, {serviceAccount: 'a:ci'}, {serviceAccount: 'b:ci'}]}]",
            &[
                "a member sets none of `group`, `user` and `serviceAccount`",
                "a member sets several of `group`, `user` and `serviceAccount`",
                "the name of a member is empty",
                "the member `system:masters` is reserved for Kubernetes",
                "the member `system:serviceaccount:a:b` is reserved for Kubernetes",
                "invalid service account name `a/b`",
                "duplicate member `c`",
                "duplicate member `a:ci`",
            ],
        );
    }
}
