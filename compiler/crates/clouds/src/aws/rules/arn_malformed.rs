//! An invalid ARN of a role or key.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::AwsCluster;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::aws::access::partition;
use crate::aws::section;

/// Sources: docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html; botocore 1.43.11, eks `Provider` (the key is
/// in the region of the cluster), 2026-11-29.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2582",
        name: "aws-arn-malformed",
        severity: Severity::Error,
        summary: "the ARN of a role or of a KMS key is invalid",
        checks: "Whether `nodeRole` and `role` are ARNs of IAM roles in the account of the cluster, and `secretsKey` is the
ARN of a KMS key in the region of the cluster.",
        reason: "An invalid ARN is detected only after minutes, when CloudFormation fails and rolls back. EKS can use
only roles of its own account, and encrypts Secrets only with a key in its own region.",
        remedy: "Write the ARN that `aws iam get-role` or `aws kms describe-key` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, nodeRole: gpu-nodes, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("nodeRole: gpu-nodes", "nodeRole: arn:aws:iam::123456789012:role/gpu-nodes"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let partition = partition(&section.region);
    let account = &section.account;
    if let Some(role) = &section.node_role {
        check_role(role, partition, account, report);
    }
    let AwsCluster::Create(create) = &section.cluster.value else {
        return;
    };
    if let Some(role) = &create.role {
        check_role(role, partition, account, report);
    }
    if let Some(key) = &create.secrets_key
        && !is_key(key, partition, &section.region)
    {
        let message = format!("`{key}` is not the ARN of a KMS key in {}", section.region);
        report
            .diagnostic(&RULE.code, key.span, message)
            .help(format!(
                "write an ARN such as `arn:{partition}:kms:{}:{account}:key/11111111-2222-3333-4444-555555555555`",
                section.region
            ))
            .emit();
    }
}

fn check_role(role: &Spanned<String>, partition: &str, account: &str, report: &mut Report) {
    let other = parts(role, partition).map(|[_, _, owner, _]| owner);
    let other = other.filter(|owner| *owner != account);
    if !is_role(role, partition) || other.is_some() {
        let message = match other {
            Some(other) if is_role(role, partition) => {
                format!("the role belongs to account {other}, and the cluster to {account}")
            }
            _ => format!("`{role}` is not the ARN of an IAM role"),
        };
        report
            .diagnostic(&RULE.code, role.span, message)
            .help(format!(
                "write an ARN such as `arn:{partition}:iam::{account}:role/gpu-nodes`"
            ))
            .emit();
    }
}

/// The parts of an ARN in a partition: its service, region, account and resource.
fn parts<'a>(text: &'a str, partition: &str) -> Option<[&'a str; 4]> {
    let parts: Vec<_> = text.splitn(6, ':').collect();
    let ["arn", own, service, region, account, resource] = parts[..] else {
        return None;
    };
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    (own == partition && is_account).then_some([service, region, account, resource])
}

fn is_role(text: &str, partition: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-/".contains(c);
    let Some(["iam", "", _, resource]) = parts(text, partition) else {
        return false;
    };
    let name = resource.strip_prefix("role/");
    name.is_some_and(|name| !name.is_empty() && !name.ends_with('/') && name.chars().all(is_plain))
}

fn is_key(text: &str, partition: &str, region: &str) -> bool {
    let Some(["kms", own, _, resource]) = parts(text, partition) else {
        return false;
    };
    let id = resource.strip_prefix("key/").unwrap_or_default();
    let inner = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    // The ID of a key in several regions starts with `mrk-`.
    let digits = id.strip_prefix("mrk-").unwrap_or(id);
    own == region && digits.len() >= 32 && digits.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_other_accounts_are_reported() {
        let messages = |role: &str| {
            let mut report = Report::default();
            let role = Spanned::without_span(role.to_owned());
            check_role(&role, "aws", "123456789012", &mut report);
            let found = report.diagnostics().iter();
            found.map(|it| it.message.clone()).collect::<Vec<_>>()
        };
        assert_eq!(messages("arn:aws:iam::123456789012:role/nodes"), [""; 0]);
        let other = messages("arn:aws:iam::999999999999:role/nodes");
        let expected = "the role belongs to account 999999999999, and the cluster to 123456789012";
        assert_eq!(other, [expected]);
        assert_eq!(messages("nodes"), ["`nodes` is not the ARN of an IAM role"]);
    }

    #[test]
    fn roles_and_keys() {
        assert!(is_role(
            "arn:aws:iam::123456789012:role/team/gpu-nodes",
            "aws"
        ));
        for text in [
            "gpu-nodes",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::123456789012:user/gpu-nodes",
            "arn:aws:iam:us-east-1:123456789012:role/gpu-nodes",
            "arn:aws:iam::12345:role/gpu-nodes",
            "arn:aws-cn:iam::123456789012:role/gpu-nodes",
            "arn:aws:iam::123456789012:role/gpu nodes",
        ] {
            assert!(!is_role(text, "aws"), "{text}");
        }
        let id = "11111111-2222-3333-4444-555555555555";
        let key = format!("arn:aws:kms:us-east-1:123456789012:key/{id}");
        assert!(is_key(&key, "aws", "us-east-1"));
        let several = "arn:aws:kms:us-east-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab";
        assert!(is_key(several, "aws", "us-east-1"));
        assert!(!is_key(&key, "aws", "us-west-2"));
        assert!(!is_key(
            "arn:aws:kms:us-east-1:123456789012:alias/eks",
            "aws",
            "us-east-1"
        ));
    }
}
