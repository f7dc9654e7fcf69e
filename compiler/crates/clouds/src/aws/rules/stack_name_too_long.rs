//! Cluster and pool names that are together too long for `CloudFormation`.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{cluster_name, created_pools};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2534",
        name: "stack-name-too-long",
        severity: Severity::Error,
        summary: "the names of the cluster and the pool are together too long",
        checks: "Whether the names of the cluster and the pool have at most 110 characters together.",
        reason: "eksctl creates a stack eksctl-CLUSTER-nodegroup-POOL for each pool. CloudFormation allows 128
characters for its name.",
        remedy: "Shorten the pool's name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {vpc: {id: vpc-0123456789abcdef0, securityGroup: sg-0123456789abcdef0, privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}, name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let name = cluster_name(&cluster.config);
    for pool in created_pools(cluster) {
        let length = name.chars().count() + pool.name.chars().count();
        if length > MAX_LENGTH {
            let message = format!(
                "the names of cluster and pool have {length} characters; the limit is {MAX_LENGTH}"
            );
            report
                .diagnostic(&RULE.code, pool.name.span, message)
                .label(name.span, "the name of the cluster")
                .help("shorten one of the names: `eksctl-…-nodegroup-…` can have 128 characters")
                .emit();
        }
    }
}

/// The maximum length of both names: that of a stack's name without `eksctl-` and `-nodegroup-` (`CloudFormation`
/// `CreateStack`: 128 characters).
const MAX_LENGTH: usize = 110;
