//! `nodesOnly` for a subnet of an existing cluster.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::AwsCluster;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{cluster_vpc, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2565",
        name: "nodes-only-unused",
        severity: Severity::Error,
        summary: "`nodesOnly` has no effect for an existing cluster",
        checks: "Whether `nodesOnly` is set for a subnet of an existing cluster.",
        reason: "The subnets of the control plane are selected when a cluster is created.",
        remedy: "Remove `nodesOnly`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster:
      existing:
        vpc:
          id: vpc-0123456789abcdef0
          securityGroup: sg-0123456789abcdef0
          privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0, nodesOnly: true}]
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace(", nodesOnly: true", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !matches!(
        section(&cluster.config).cluster.value,
        AwsCluster::Existing(_)
    ) {
        return;
    }
    let Some(vpc) = cluster_vpc(cluster) else {
        return;
    };
    for subnet in vpc.private_subnets.iter().chain(&vpc.public_subnets) {
        if subnet.nodes_only.value {
            report
                .diagnostic(
                    &RULE.code,
                    subnet.nodes_only.span,
                    "`nodesOnly` has no effect for an existing cluster",
                )
                .help("remove `nodesOnly`")
                .emit();
        }
    }
}
