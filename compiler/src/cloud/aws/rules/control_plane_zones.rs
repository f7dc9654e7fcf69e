//! A cluster whose subnets EKS would not take.

use std::collections::BTreeSet;

use gpuc_schema::config::{AwsCluster, AwsVpc};

use super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A cluster whose subnets EKS would not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2506",
        name: "control-plane-zones",
        severity: Severity::Error,
        summary: "a cluster has too few zones, or both zones and subnets",
        explain: "### What it checks

Whether a cluster to be created has subnets in at least two zones, and either `zones` or a VPC
that is there.

### Why it matters

EKS puts the control plane into two zones at least. Where the VPC is there, its subnets say
which.

### What to do

Name two zones or none; or list subnets in two zones, and no `zones`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.written);
    let AwsCluster::Create(create) = &section.cluster.value else {
        return;
    };
    if let Some(AwsVpc::Existing(vpc)) = create.vpc.as_ref().map(|vpc| &vpc.value) {
        if let Some(zone) = create.zones.first() {
            report
                .draft(&RULE.code, zone.span, "the VPC is there, and has its zones")
                .label(vpc.id.span, "its subnets say which")
                .help("remove `zones`")
                .emit();
        }
        let subnets = vpc.private_subnets.iter().chain(&vpc.public_subnets);
        let zones: BTreeSet<_> = subnets.map(|subnet| subnet.zone.as_str()).collect();
        if zones.len() < 2 || vpc.private_subnets.is_empty() {
            report
                .draft(
                    &RULE.code,
                    vpc.id.span,
                    "the subnets of the VPC are too few",
                )
                .here("two zones are needed, and a private subnet for nodes")
                .help("list the private subnets of two zones")
                .emit();
        }
        return;
    }
    let zones: BTreeSet<_> = create.zones.iter().map(|zone| zone.as_str()).collect();
    if let (1, Some(zone)) = (zones.len(), create.zones.first()) {
        let message = format!("the control plane would be in `{zone}` alone");
        report
            .draft(&RULE.code, zone.span, message)
            .help("add a second zone, or remove `zones` to have eksctl pick")
            .emit();
    }
}
