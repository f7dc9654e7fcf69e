//! An AWS account that is not twelve digits.

use super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An AWS account that is not twelve digits.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2501",
        name: "account-malformed",
        severity: Severity::Error,
        summary: "an AWS account is not twelve digits",
        explain: "### What it checks

Whether `cloud.aws.account` is twelve digits.

### Why it matters

Every script asks AWS first whether it talks to this account. With a name or a shortened number
no script would ever start.

### What to do

Write the digits that `aws sts get-caller-identity` prints as `Account`, in quotes: YAML reads a
number without them and drops leading zeros.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "acme-prod", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let account = &section(&cluster.written).account;
    if account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    let message = format!("`{account}` is not an AWS account");
    report
        .draft(&RULE.code, account.span, message)
        .here("twelve digits")
        .help("`aws sts get-caller-identity` prints it as `Account`; write it in quotes")
        .emit();
}
