//! An invalid VPC range.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{AwsCluster, AwsVpc};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::section;
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2507",
        name: "vpc-range-malformed",
        severity: Severity::Error,
        summary: "the IPv4 range of a new VPC is invalid",
        checks: "Whether `vpc.cidr` is an IPv4 network with a prefix length of 16 to 24 and without host bits.",
        reason: "eksctl divides the range into a public and a private subnet for each zone, and rejects smaller and
larger ranges.",
        remedy: "Write a range such as 10.20.0.0/16 that does not overlap with networks that the cluster must reach.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {vpc: {cidr: 10.20.0.0/8}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("10.20.0.0/8", "10.20.0.0/16"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Create(create) = &section(&cluster.config).cluster.value else {
        return;
    };
    let Some(AwsVpc::Cidr(range)) = create.vpc.as_ref().map(|vpc| &vpc.value) else {
        return;
    };
    let parsed = Ipv4Range::parse(range);
    let found = match parsed {
        Ok(found) | Err(RangeError::HostBits(found)) => Some(found),
        Err(RangeError::Malformed) => None,
    };
    if !found.is_some_and(|found| (16..=24).contains(&found.prefix())) {
        let message = format!("invalid VPC range `{range}`");
        report
            .diagnostic(&RULE.code, range.span, message)
            .primary_label("must be an IPv4 network with a prefix length of 16 to 24")
            .help("write a range such as `10.20.0.0/16`")
            .emit();
    } else if let Err(RangeError::HostBits(network)) = parsed {
        let message = format!("invalid VPC range `{range}`: host bits are set");
        report
            .diagnostic(&RULE.code, range.span, message)
            .help(format!("write `{network}`"))
            .replace(range.span, network.to_string())
            .emit();
    }
}
