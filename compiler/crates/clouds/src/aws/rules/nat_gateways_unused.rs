//! NAT gateways for a VPC that eksctl does not create.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{AwsCluster, AwsVpc};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::aws::section;

/// Source: eksctl-io/eksctl:userdocs/src/usage/vpc-configuration.md @99984adb, 2026-08-21.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2584",
        name: "nat-gateways-unused",
        severity: Severity::Warning,
        summary: "`natGateways` has no effect in an existing VPC",
        checks: "Whether `natGateways` is set together with `vpc.existing`.",
        reason: "eksctl creates NAT gateways only in a VPC that it creates. In an existing VPC, nodes use its route tables.",
        remedy: "Remove `natGateways`, and create the gateways in the VPC.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster:
      create:
        natGateways: perZone
        vpc:
          existing:
            id: vpc-0123456789abcdef0
            privateSubnets:
              - {zone: us-east-1a, id: subnet-0123456789abcdef0}
              - {zone: us-east-1b, id: subnet-0123456789abcdef1}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("        natGateways: perZone\n", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Create(create) = &section(&cluster.config).cluster.value else {
        return;
    };
    let vpc = create.vpc.as_ref();
    let (Some(gateways), Some(vpc)) = (create.nat_gateways, vpc) else {
        return;
    };
    if matches!(vpc.value, AwsVpc::Existing(_)) {
        report
            .diagnostic(
                &RULE.code,
                gateways.span,
                "`natGateways` has no effect in an existing VPC",
            )
            .label(vpc.span, "the existing VPC")
            .help("remove `natGateways`")
            .emit();
    }
}
