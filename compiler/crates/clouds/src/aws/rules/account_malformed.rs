//! An AWS account that is not twelve digits.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2501",
        name: "account-malformed",
        severity: Severity::Error,
        summary: "an AWS account ID is not twelve digits",
        checks: "Whether `cloud.aws.account` is twelve digits.",
        reason: "Every script first checks that the AWS credentials belong to this account. With a name or a
shortened number, every script stops at that check.",
        remedy: "Write the digits that `aws sts get-caller-identity` prints as `Account`, in quotes. Without quotes,
YAML reads a number and drops leading zeros.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "acme-prod", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace(r#""acme-prod""#, r#""123456789012""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let account = &section(&cluster.config).account;
    if account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    let message = format!("invalid AWS account ID `{account}`");
    report
        .diagnostic(&RULE.code, account.span, message)
        .primary_label("must be twelve digits")
        .help("write, in quotes, the `Account` that `aws sts get-caller-identity` prints")
        .emit();
}
