//! A new cluster with too few zones, or with both zones and subnets.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{AwsCluster, AwsVpc};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2506",
        name: "control-plane-zones",
        severity: Severity::Error,
        summary: "a cluster has too few zones, or both zones and subnets",
        checks: "Whether a new cluster has subnets in at least two zones, and either `zones` or an existing VPC, not
both.",
        reason: "EKS requires at least two zones for the control plane. In an existing VPC, the subnets determine the
zones.",
        remedy: "Set two zones or none. With an existing VPC, remove `zones` and list subnets in two zones.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("us-east-1a", "us-east-1a, us-east-1b"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = section(&cluster.config);
    let AwsCluster::Create(create) = &section.cluster.value else {
        return;
    };
    if let Some(AwsVpc::Existing(vpc)) = create.vpc.as_ref().map(|vpc| &vpc.value) {
        if let Some(zone) = create.zones.first() {
            report
                .diagnostic(
                    &RULE.code,
                    zone.span,
                    "`zones` cannot be combined with an existing VPC",
                )
                .label(vpc.id.span, "the subnets of this VPC determine the zones")
                .help("remove `zones`")
                .emit();
        }
        let subnets = vpc.private_subnets.iter().chain(&vpc.public_subnets);
        let zones: BTreeSet<_> = subnets
            .filter(|subnet| !subnet.nodes_only.value)
            .map(|subnet| subnet.zone.as_str())
            .collect();
        if zones.len() < 2 || vpc.private_subnets.is_empty() {
            report
                .diagnostic(&RULE.code, vpc.id.span, "the VPC has too few subnets")
                .primary_label("requires subnets in two zones, and a private subnet for nodes")
                .help("list private subnets in two zones, without `nodesOnly`")
                .emit();
        }
        return;
    }
    let zones: BTreeSet<_> = create.zones.iter().map(|zone| zone.as_str()).collect();
    if let (1, Some(zone)) = (zones.len(), create.zones.first()) {
        let message = format!("the control plane requires two zones; only `{zone}` is set");
        report
            .diagnostic(&RULE.code, zone.span, message)
            .help("add a second zone, or remove `zones`: eksctl then chooses the zones")
            .emit();
    }
}
