//! An id that is not one of AWS.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Capacity, Volumes};

use super::{made_pools, vpc_of_cluster};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An id that is not one of AWS.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2508",
        name: "aws-id-malformed",
        severity: Severity::Error,
        summary: "an id of a VPC, subnet, security group or reservation is not one",
        explain: "### What it checks

Whether ids of VPCs, subnets, security groups and capacity reservations are what AWS gives out:
a prefix such as subnet-, and 8 to 17 hexadecimal digits.

### Why it matters

A name in the place of an id is noticed only when CloudFormation fails, after minutes, and rolls
back.

### What to do

Write the id that the console and the AWS CLI show, not the name.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, subnets: [private-a], nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, subnets: [subnet-0123456789abcdef0], nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut look = |id: &Spanned<String>, prefix: &str, what: &str| {
        let digits = id.strip_prefix(prefix);
        let fits = digits.is_some_and(|digits| {
            let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (8..=17).contains(&digits.len()) && digits.bytes().all(digit)
        });
        if !fits {
            report
                .draft(
                    &RULE.code,
                    id.span,
                    format!("`{id}` is not the id of a {what}"),
                )
                .help(format!("write one like `{prefix}0123456789abcdef0`"))
                .emit();
        }
    };
    if let Some(vpc) = vpc_of_cluster(cluster) {
        look(&vpc.id, "vpc-", "VPC");
        if let Some(group) = &vpc.security_group {
            look(group, "sg-", "security group");
        }
        for subnet in vpc.private_subnets.iter().chain(&vpc.public_subnets) {
            look(&subnet.id, "subnet-", "subnet");
        }
    }
    for class in cluster.written.storage.iter().flat_map(|it| &it.classes) {
        if let Volumes::Files(files) = &class.volumes.value {
            if let Some(subnet) = &files.subnet {
                look(subnet, "subnet-", "subnet");
            }
            if let Some(group) = &files.security_group {
                look(group, "sg-", "security group");
            }
        }
    }
    for pool in made_pools(cluster) {
        for subnet in &pool.written.subnets {
            look(subnet, "subnet-", "subnet");
        }
        match &pool.written.capacity.value {
            Capacity::Reservation(it) => look(&it.id, "cr-", "capacity reservation"),
            Capacity::CapacityBlock(it) => look(&it.id, "cr-", "capacity block"),
            Capacity::OnDemand | Capacity::Spot(_) => {}
        }
    }
}
