//! An access entry that EKS refuses, or that grants nothing.

use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::AwsAccessEntry;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::access::{entries, partition};
use super::section;

/// Source: docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html and set-custom-username.html (one
/// entry for each principal, no STS session, prefixes of names), 2026-11-28;
/// terraform-aws-modules/terraform-aws-eks#2915 ("The kubernetes group name system:masters is invalid, it cannot start
/// with system:").
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2569",
        name: "access-entry-invalid",
        severity: Severity::Error,
        summary: "an access entry is invalid or grants nothing",
        checks: "Whether each entry of `access` has the ARN of an IAM role or user in the partition of the region,
appears once, sets `groups` or `policies`, names each policy once, and uses no names that EKS or Kubernetes reserves.",
        reason: "EKS refuses ARNs of sessions (`arn:aws:sts::…`), a second entry for a principal, groups with the prefix
`system:`, and users with the prefix `system:`, `eks:`, `aws:`, `amazon:` or `iam:`. A principal without groups and
policies can log in, but has no permissions.",
        remedy: "Write the ARN of the role: `arn:aws:iam::123456789012:role/research`. For administrators, use the policy
`clusterAdmin` instead of the group `system:masters`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster: {create: {access: [{principal: "arn:aws:iam::123456789012:role/platform", groups: ["system:masters"]}]}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace(r#"groups: ["system:masters"]"#, "policies: [{policy: clusterAdmin}]"),
    },
    run,
};

const RESERVED_USERS: [&str; 5] = ["system:", "eks:", "aws:", "amazon:", "iam:"];

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let partition = partition(&section.region);
    let mut known: BTreeMap<&str, &Spanned<String>> = BTreeMap::new();
    for entry in entries(section) {
        check_principal(&entry.principal, partition, report);
        if let Some(first) = known.insert(&entry.principal, &entry.principal) {
            let message = format!("duplicate access entry for `{}`", entry.principal);
            report
                .diagnostic(&RULE.code, entry.principal.span, message)
                .label(first.span, "the first entry")
                .help("keep one entry, with the groups and policies of both")
                .emit();
        }
        check_names(entry, report);
        check_policies(entry, report);
        if entry.groups.is_empty() && entry.policies.is_empty() {
            let message = format!("the access entry for `{}` grants nothing", entry.principal);
            report
                .diagnostic(&RULE.code, entry.principal.span, message)
                .help("add `groups` or `policies` to the entry")
                .emit();
        }
    }
}

fn check_principal(principal: &Spanned<String>, partition: &str, report: &mut Report) {
    if is_principal(principal, partition) {
        return;
    }
    let message = format!("invalid principal `{principal}`");
    let label = if principal.contains(":sts:") {
        "the ARN of a session, not of a role"
    } else {
        "must be the ARN of an IAM role or user"
    };
    report
        .diagnostic(&RULE.code, principal.span, message)
        .primary_label(label)
        .help(format!(
            "write an ARN such as `arn:{partition}:iam::123456789012:role/research`"
        ))
        .emit();
}

/// Whether a text is the ARN of an IAM role or user in this partition.
fn is_principal(text: &str, partition: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", own, "iam", "", account, resource] = parts[..] else {
        return false;
    };
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let name = ["role/", "user/"]
        .into_iter()
        .find_map(|kind| resource.strip_prefix(kind));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-/".contains(c);
    let is_name = |name: &str| {
        !name.is_empty() && !name.ends_with('/') && name.len() <= 512 && name.chars().all(is_plain)
    };
    own == partition && is_account && name.is_some_and(is_name)
}

fn check_names(entry: &AwsAccessEntry, report: &mut Report) {
    for group in &entry.groups {
        if group.trim().is_empty() || group.starts_with("system:") {
            report
                .diagnostic(&RULE.code, group.span, format!("invalid group `{group}`"))
                .primary_label("EKS refuses groups with the prefix `system:`, and empty ones")
                .help("write a group of `teams[].members`, or use `policies`")
                .emit();
        }
    }
    let Some(user) = &entry.user else { return };
    let is_reserved = RESERVED_USERS.iter().any(|prefix| user.starts_with(prefix));
    if is_reserved || user.trim().is_empty() {
        report
            .diagnostic(&RULE.code, user.span, format!("invalid user `{user}`"))
            .primary_label("EKS reserves this prefix, or the name is empty")
            .help("remove `user`, or write another name")
            .emit();
    }
}

fn is_namespace(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| plain(*first) && plain(*last))
        && name.len() <= 63
        && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
}

fn check_policies(entry: &AwsAccessEntry, report: &mut Report) {
    let mut known = BTreeMap::new();
    for policy in &entry.policies {
        let name = policy.policy.value;
        if let Some(first) = known.insert(name, policy.policy.span) {
            let message = format!(
                "duplicate policy in the access entry for `{}`",
                entry.principal
            );
            report
                .diagnostic(&RULE.code, policy.policy.span, message)
                .label(first, "the first one")
                .help("keep one of them, with all `namespaces`")
                .emit();
        }
        for namespace in policy.namespaces.iter().filter(|name| !is_namespace(name)) {
            let message = format!("invalid namespace `{namespace}`");
            report
                .diagnostic(&RULE.code, namespace.span, message)
                .help("write the name of a namespace, such as `research`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::testing::{HEAD, cluster};

    #[track_caller]
    fn check(entries: &str, expected: &[&str]) {
        let head = HEAD.replace(
            "{create: {}}",
            &format!("{{create: {{access: {entries}}}}}"),
        );
        let pool = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";
        let (_, report) = cluster(&format!("{head}{pool}"));
        let found = report.diagnostics().iter();
        let messages: Vec<_> = found.map(|found| found.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn invalid_entries_are_found() {
        check(
            "[{principal: 'arn:aws:iam::123456789012:role/a/b', groups: [a]}, \
             {principal: 'arn:aws:iam::123456789012:user/ada', user: ada, policies: [{policy: view, namespaces: [a]}]}]",
            &[],
        );
        check(
            "[{principal: 'arn:aws:sts::123456789012:assumed-role/a/b', groups: [a]}, \
             {principal: 'arn:aws:iam::123456789012:role/a'}, \
             {principal: 'arn:aws:iam::123456789012:role/a', groups: ['system:masters'], user: 'eks:a'}, \
             {principal: 'arn:aws-cn:iam::123456789012:role/b', policies: [{policy: view}, {policy: view, namespaces: [A]}]}]",
            &[
                "invalid principal `arn:aws:sts::123456789012:assumed-role/a/b`",
                "the access entry for `arn:aws:iam::123456789012:role/a` grants nothing",
                "duplicate access entry for `arn:aws:iam::123456789012:role/a`",
                "invalid group `system:masters`",
                "invalid user `eks:a`",
                "invalid principal `arn:aws-cn:iam::123456789012:role/b`",
                "duplicate policy in the access entry for `arn:aws-cn:iam::123456789012:role/b`",
                "invalid namespace `A`",
            ],
        );
    }

    #[test]
    fn principals() {
        for text in [
            "arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef",
            "arn:aws:iam::123456789012:user/ada@acme.dev",
        ] {
            assert!(is_principal(text, "aws"), "{text}");
        }
        for text in [
            "research",
            "arn:aws:iam::123456789012:root",
            "arn:aws:iam::12345678901:role/a",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam:us-east-1:123456789012:role/a",
            "arn:aws:iam::123456789012:role/a b",
        ] {
            assert!(!is_principal(text, "aws"), "{text}");
        }
    }
}
