//! A member of a team to whom no access entry leads.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::AwsAccessEntry;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::access::entries;
use super::{created_cluster, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2570",
        name: "member-without-access-entry",
        severity: Severity::Warning,
        summary: "no access entry leads to a member of a team",
        checks: "Whether an entry of `access` maps an IAM principal to each group and user in `members`. An existing
cluster is checked only if it has `access`.",
        reason: "EKS knows IAM principals only. In a cluster that gpuc creates, only its creator can log in until an
access entry maps the principal to the group that the team's RoleBindings name.",
        remedy: "Add an entry with the IAM role of these people, and with the group in `groups` or the user in `user`. If
they log in through an OIDC identity provider or the ConfigMap `aws-auth`, add `allow: [member-without-access-entry]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster: {create: {access: [{principal: "arn:aws:iam::123456789012:role/research", groups: [reserch]}]}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
teams: [{name: research, members: [{group: research}]}]
"#,
        correction: Correction::Replace("reserch", "research"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let entries = entries(section);
    if entries.is_empty() && created_cluster(cluster).is_none() {
        return;
    }
    let access = section.cluster.span;
    for member in cluster.teams.iter().flat_map(|team| &team.settings.members) {
        let (name, kind, is_mapped) = match (&member.group, &member.user) {
            (Some(group), None) => (group, "group", has_group(entries, group)),
            (None, Some(user)) => (user, "user", has_user(entries, user)),
            _ => continue,
        };
        if !is_mapped {
            let message = format!("no access entry leads to the {kind} `{name}`");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(access, format!("no entry of `access` has this {kind}"))
                .help(format!(
                    "add an entry with an IAM role and this {kind} to `access` of the cluster"
                ))
                .emit();
        }
    }
}

fn has_group(entries: &[Spanned<AwsAccessEntry>], group: &str) -> bool {
    let mut groups = entries.iter().flat_map(|entry| &entry.groups);
    groups.any(|known| known.as_str() == group)
}

/// Whether a principal has this name in Kubernetes. EKS replaces parts such as `{{SessionName}}`. By default, the name
/// of a user is its ARN, and that of a role is the ARN of the session.
fn has_user(entries: &[Spanned<AwsAccessEntry>], user: &str) -> bool {
    entries.iter().any(|entry| match &entry.user {
        Some(name) => matches_name(name, user),
        None => matches_default_name(&entry.principal, user),
    })
}

fn matches_name(name: &str, user: &str) -> bool {
    let prefix = name.split_once("{{").map(|(prefix, _)| prefix);
    prefix.map_or(name == user, |prefix| user.starts_with(prefix))
}

fn matches_default_name(principal: &str, user: &str) -> bool {
    let session = principal.split_once(":role/").map(|(account, role)| {
        let name = role.rsplit('/').next().unwrap_or(role);
        format!("{}:assumed-role/{name}/", account.replace(":iam:", ":sts:"))
    });
    principal == user || session.is_some_and(|session| user.starts_with(&session))
}

#[cfg(test)]
mod tests {
    use crate::aws::testing::{HEAD, codes};

    fn check(cluster: &str, member: &str) -> bool {
        let head = HEAD.replace("{create: {}}", cluster);
        let found = codes(&format!(
            "{head}nodePools: [{{name: a, machine: m7i.large, nodes: {{count: 1}}}}]\n\
             teams: [{{name: a, members: [{member}]}}]"
        ));
        found.contains(&"GPUC2570")
    }

    #[test]
    fn members_without_entry_are_found() {
        let entry = "access: [{principal: 'arn:aws:iam::123456789012:role/x/ml', groups: [ml]}, \
                     {principal: 'arn:aws:iam::123456789012:user/ada', groups: [ada]}, \
                     {principal: 'arn:aws:iam::123456789012:role/dev', groups: [dev], user: 'dev:{{SessionName}}'}]";
        let create = format!("{{create: {{{entry}}}}}");
        for member in [
            "{group: ml}",
            "{serviceAccount: ci}",
            "{user: 'arn:aws:iam::123456789012:user/ada'}",
            "{user: 'arn:aws:sts::123456789012:assumed-role/ml/ada'}",
            "{user: 'dev:ada'}",
        ] {
            assert!(!check(&create, member), "{member}");
        }
        for member in ["{group: other}", "{user: ada}"] {
            assert!(check(&create, member), "{member}");
            assert!(check("{create: {}}", member), "{member}");
            assert!(
                check(&format!("{{existing: {{{entry}}}}}"), member),
                "{member}"
            );
            assert!(!check("{existing: {}}", member), "{member}");
        }
    }
}
