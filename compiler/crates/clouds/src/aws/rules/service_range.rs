//! A range of Services that EKS refuses.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};
use gpuc_schema::config::{AwsCluster, AwsVpc};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::aws::section;

/// Source: botocore 1.43.11, eks `KubernetesNetworkConfigRequest.serviceIpv4Cidr`, 2026-11-29.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2583",
        name: "eks-service-range",
        severity: Severity::Error,
        summary: "the range of Services is invalid",
        checks: "Whether `serviceCidr` is a private IPv4 network with a prefix length of 12 to 24, without host bits, that does
not overlap with the range of the VPC.",
        reason: "EKS refuses other ranges, and the range cannot be changed after creation.",
        remedy: "Write a range such as 172.20.0.0/16.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {serviceCidr: 192.168.0.0/20}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("192.168.0.0/20", "172.20.0.0/16"),
    },
    run,
};

/// The range of a VPC that eksctl creates by default.
/// Source: eksctl-io/eksctl:userdocs/src/usage/vpc-configuration.md @99984adb, 2026-08-21.
const DEFAULT_VPC: &str = "192.168.0.0/16";

/// The networks that contain every valid range.
const PRIVATE: [&str; 3] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Create(create) = &section(&cluster.config).cluster.value else {
        return;
    };
    let Some(written) = &create.service_cidr else {
        return;
    };
    let range = match Ipv4Range::parse(written) {
        Ok(range) if is_valid(range) => range,
        Err(RangeError::HostBits(network)) if is_valid(network) => {
            let message = format!("invalid range `{written}`: host bits are set");
            report
                .diagnostic(&RULE.code, written.span, message)
                .help(format!("write `{network}`"))
                .replace(written.span, network.to_string())
                .emit();
            return;
        }
        _ => {
            let message = format!("invalid range `{written}`");
            let label = format!(
                "must be within {}, with a prefix length of 12 to 24",
                PRIVATE.join(", ")
            );
            report
                .diagnostic(&RULE.code, written.span, message)
                .primary_label(label)
                .help("write a range such as `172.20.0.0/16`")
                .emit();
            return;
        }
    };
    let vpc = match create.vpc.as_ref().map(|vpc| &vpc.value) {
        Some(AwsVpc::Cidr(vpc)) => vpc.as_str(),
        Some(AwsVpc::Existing(_)) => return,
        None => DEFAULT_VPC,
    };
    if Ipv4Range::parse(vpc).is_ok_and(|vpc| vpc.overlaps(range)) {
        let message =
            format!("the range of Services, {range}, overlaps with that of the VPC, {vpc}");
        report
            .diagnostic(&RULE.code, written.span, message)
            .help("write a range outside the VPC, such as `172.20.0.0/16`")
            .emit();
    }
}

fn is_valid(range: Ipv4Range) -> bool {
    let mut networks = PRIVATE
        .iter()
        .filter_map(|text| Ipv4Range::parse(text).ok());
    (12..=24).contains(&range.prefix()) && networks.any(|network| network.contains(range))
}

#[cfg(test)]
mod tests {
    use crate::aws::testing::{HEAD, cluster};

    #[track_caller]
    fn check(create: &str, expected: &[&str]) {
        let head = HEAD.replace("{create: {}}", &format!("{{create: {create}}}"));
        let pool = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";
        let (_, report) = cluster(&format!("{head}{pool}"));
        let found = report.diagnostics().iter();
        let messages: Vec<_> = found.map(|found| found.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn ranges() {
        check("{serviceCidr: 172.20.0.0/16}", &[]);
        check(
            "{serviceCidr: 192.168.0.0/20, vpc: {cidr: 10.0.0.0/16}}",
            &[],
        );
        check(
            "{serviceCidr: 172.20.0.0/25}",
            &["invalid range `172.20.0.0/25`"],
        );
        check(
            "{serviceCidr: 203.0.113.0/24}",
            &["invalid range `203.0.113.0/24`"],
        );
        check(
            "{serviceCidr: 172.20.0.1/16}",
            &["invalid range `172.20.0.1/16`: host bits are set"],
        );
        check(
            "{serviceCidr: 10.0.4.0/22, vpc: {cidr: 10.0.0.0/16}}",
            &["the range of Services, 10.0.4.0/22, overlaps with that of the VPC, 10.0.0.0/16"],
        );
    }
}
