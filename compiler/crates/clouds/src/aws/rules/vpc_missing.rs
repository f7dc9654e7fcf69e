//! An existing cluster without its VPC, which only a cluster of eksctl can be.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::AwsCluster;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{node_group, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2560",
        name: "vpc-missing",
        severity: Severity::Warning,
        summary: "node groups of an existing cluster without `vpc` require that eksctl created the cluster",
        checks: "Whether `cluster.existing` sets `vpc`, if gpuc creates node groups.",
        reason: "eksctl reads the network of a cluster that it created from the cluster's CloudFormation stack. For any
other cluster, such as one of Terraform, it requires the VPC, the subnets and the security group in its file, and creates
no node group without them. The scripts check this before their first change.",
        remedy: "Add `vpc` with the cluster's `id`, `securityGroup` and `privateSubnets`: `aws eks describe-cluster --query
cluster.resourcesVpcConfig` prints them. If eksctl created the cluster, write `allow: [vpc-missing]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace(
            "{existing: {}}",
            "{existing: {vpc: {id: vpc-0123456789abcdef0, securityGroup: sg-0123456789abcdef0, privateSubnets: \
             [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}}}",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let AwsCluster::Existing(existing) = &section.cluster.value else {
        return;
    };
    if existing.vpc.is_some() || node_group::managed_pools(cluster).next().is_none() {
        return;
    }
    report
        .diagnostic(
            &RULE.code,
            section.cluster.span,
            "without `vpc`, node groups can be created only if eksctl created the cluster",
        )
        .help(format!(
            "add `vpc` with `id`, `securityGroup` and `privateSubnets`; or add `allow: [{}]`",
            RULE.code.name
        ))
        .emit();
}
