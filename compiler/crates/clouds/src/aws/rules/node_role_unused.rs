//! A role of nodes without a node group that gpuc creates.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::node_group::managed_pools;
use crate::aws::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2585",
        name: "node-role-unused",
        severity: Severity::Warning,
        summary: "`nodeRole` has no effect without a node group that gpuc creates",
        checks: "Whether a node group that gpuc creates gets the role in `cloud.aws.nodeRole`.",
        reason: "Existing node groups keep their role, and nodes of Karpenter get a role from the CloudFormation stack that
gpuc deploys for Karpenter.",
        remedy: "Remove `nodeRole`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, nodeRole: "arn:aws:iam::123456789012:role/gpu", cluster: {existing: {name: batch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, existing: {selector: {eks.amazonaws.com/nodegroup: gpu}}}
"#,
        correction: Correction::Replace("nodeRole: \"arn:aws:iam::123456789012:role/gpu\", ", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(role) = &section(&cluster.config).node_role else {
        return;
    };
    if managed_pools(cluster).next().is_none() {
        report
            .diagnostic(
                &RULE.code,
                role.span,
                "`nodeRole` has no effect: gpuc creates no node group",
            )
            .help("remove `nodeRole`")
            .emit();
    }
}
