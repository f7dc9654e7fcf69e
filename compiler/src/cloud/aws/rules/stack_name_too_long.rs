//! Names that together are too long for `CloudFormation`.

use super::{cluster_name, made_pools};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Names that together are too long for `CloudFormation`.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2534",
        name: "stack-name-too-long",
        severity: Severity::Error,
        summary: "the names of cluster and pool are together too long",
        explain: "### What it checks

Whether the names of cluster and pool have at most 110 characters together.

### Why it matters

eksctl makes a stack eksctl-CLUSTER-nodegroup-POOL for each pool, and CloudFormation allows 128
characters.

### What to do

Shorten the pool's name.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, machine: g5.xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let name = cluster_name(&cluster.written);
    for pool in made_pools(cluster) {
        let together = name.chars().count() + pool.name.chars().count();
        if together > MOST {
            let message = format!("cluster and pool have names of {together} characters together");
            report
                .draft(&RULE.code, pool.name.span, message)
                .label(name.span, "the cluster's name")
                .help(format!(
                    "{MOST} are the most: CloudFormation takes 128 for `eksctl-…-nodegroup-…`"
                ))
                .emit();
        }
    }
}

/// What a stack's name leaves after `eksctl-` and `-nodegroup-` (`CloudFormation` `CreateStack`: 128 characters).
const MOST: usize = 110;
