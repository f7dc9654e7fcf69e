//! An existing VPC without the security group of the cluster.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::AwsCluster;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2509",
        name: "security-group-missing",
        severity: Severity::Error,
        summary: "the VPC of an existing cluster has no security group",
        checks: "Whether `cluster.existing.vpc` sets the security group of the control plane.",
        reason: "For a cluster that eksctl did not create, eksctl requires the VPC, the subnets and the security
group. It creates no node group without them.",
        remedy: "Set `securityGroup` to the output of `aws eks describe-cluster --query
cluster.resourcesVpcConfig.clusterSecurityGroupId`. If eksctl created the cluster, remove `vpc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {vpc: {id: vpc-0123456789abcdef0, privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("privateSubnets:", "securityGroup: sg-0123456789abcdef0, privateSubnets:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Existing(existing) = &section(&cluster.config).cluster.value else {
        return;
    };
    let Some(vpc) = existing
        .vpc
        .as_ref()
        .filter(|vpc| vpc.security_group.is_none())
    else {
        return;
    };
    report
        .diagnostic(
            &RULE.code,
            vpc.id.span,
            "`vpc` requires the security group of the cluster",
        )
        .help("add `securityGroup: sg-…`, or remove `vpc` if eksctl created the cluster")
        .emit();
}
