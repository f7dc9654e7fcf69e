//! An invalid AWS resource ID.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::{Capacity, Volumes};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{cluster_vpc, created_pools};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2508",
        name: "aws-id-malformed",
        severity: Severity::Error,
        summary: "the ID of a VPC, subnet, security group or reservation is invalid",
        checks: "Whether IDs of VPCs, subnets, security groups and capacity reservations have the format of AWS:
a prefix such as subnet-, and 8 to 17 hexadecimal digits.",
        reason: "A name instead of an ID is detected only after minutes, when CloudFormation fails and rolls back.",
        remedy: "Write the ID that the console and the AWS CLI show, not the name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, subnets: [private-a], nodes: {count: 2}}
"#,
        correction: Correction::Replace("private-a", "subnet-0123456789abcdef0"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut validate = |id: &Spanned<String>, prefix: &str, kind: &str| {
        let digits = id.strip_prefix(prefix);
        let is_valid = digits.is_some_and(|digits| {
            let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (8..=17).contains(&digits.len()) && digits.bytes().all(digit)
        });
        if !is_valid {
            report
                .diagnostic(&RULE.code, id.span, format!("invalid {kind} ID `{id}`"))
                .help(format!("write an ID such as `{prefix}0123456789abcdef0`"))
                .emit();
        }
    };
    if let Some(vpc) = cluster_vpc(cluster) {
        validate(&vpc.id, "vpc-", "VPC");
        if let Some(group) = &vpc.security_group {
            validate(group, "sg-", "security group");
        }
        for subnet in vpc.private_subnets.iter().chain(&vpc.public_subnets) {
            validate(&subnet.id, "subnet-", "subnet");
        }
    }
    for class in cluster.config.storage.iter().flat_map(|it| &it.classes) {
        if let Volumes::Files(files) = &class.volumes.value {
            if let Some(subnet) = &files.subnet {
                validate(subnet, "subnet-", "subnet");
            }
            if let Some(group) = &files.security_group {
                validate(group, "sg-", "security group");
            }
        }
    }
    for pool in created_pools(cluster) {
        for subnet in &pool.settings.subnets {
            validate(subnet, "subnet-", "subnet");
        }
        match &pool.settings.capacity.value {
            Capacity::Reservation(it) => validate(&it.id, "cr-", "capacity reservation"),
            Capacity::CapacityBlock(it) => validate(&it.id, "cr-", "capacity block"),
            Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => {}
        }
    }
}
