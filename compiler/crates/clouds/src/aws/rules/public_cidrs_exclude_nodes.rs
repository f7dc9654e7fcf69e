//! Nodes that use the public endpoint, which a list of ranges limits.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::Ipv4Range;
use gpuc_schema::config::AwsEndpoint;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_cluster;

/// Source: docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html ("If you restrict access to your public
/// endpoint using CIDR blocks, we recommend that you also enable private endpoint access"), 2026-11-28.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2568",
        name: "public-cidrs-exclude-nodes",
        severity: Severity::Warning,
        summary: "nodes can be excluded from the public endpoint that they use",
        checks: "Whether `publicAccessCidrs` limits the public endpoint of a cluster whose nodes use it.",
        reason: "With `endpoint: public`, nodes reach the API server through the addresses of their NAT gateways. Nodes
whose gateway is not in the list do not join the cluster. The addresses of the gateways of a new VPC are not known before
eksctl creates it.",
        remedy: "Use `endpoint: publicAndPrivate`, which changes nothing for clients outside the VPC. If the list contains
the addresses of the NAT gateways, add `allow: [public-cidrs-exclude-nodes]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {endpoint: public, publicAccessCidrs: [203.0.113.0/24]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("endpoint: public,", "endpoint: publicAndPrivate,"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = created_cluster(cluster) else {
        return;
    };
    let ranges = &create.public_access_cidrs;
    let is_open = |text: &str| Ipv4Range::parse(text).is_ok_and(|range| range.prefix() == 0);
    let Some(first) = ranges.first() else { return };
    if create.endpoint.value != AwsEndpoint::Public || ranges.iter().any(|range| is_open(range)) {
        return;
    }
    report
        .diagnostic(
            &RULE.code,
            create.endpoint.span,
            "nodes use the public endpoint, which only some addresses can reach",
        )
        .label(
            first.span,
            "must contain the addresses of the NAT gateways of all nodes",
        )
        .help("write `publicAndPrivate`")
        .emit();
}
