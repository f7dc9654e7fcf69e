//! A private range of addresses for the public endpoint of the API server.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::Ipv4Range;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_cluster;

/// EKS refuses such ranges ("The following CIDRs are invalid in publicAccessCidrs", general knowledge). Independently
/// of that, no packet of the internet has such a source.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2566",
        name: "public-cidr-unreachable",
        severity: Severity::Error,
        summary: "a range of addresses for the public endpoint is private",
        checks: "Whether each range of `publicAccessCidrs` contains public addresses.",
        reason: "The public endpoint sees the public address of a client, such as that of its NAT gateway. A list of
private ranges excludes everyone.",
        remedy: "Write the public addresses of your network. Clients inside the VPC use the private endpoint, which the
list does not limit.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {publicAccessCidrs: [10.0.0.0/8]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("10.0.0.0/8", "203.0.113.0/24"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = created_cluster(cluster) else {
        return;
    };
    for range in &create.public_access_cidrs {
        if Ipv4Range::parse(range).is_ok_and(Ipv4Range::is_private) {
            let message = format!("the range `{range}` has no public addresses");
            report
                .diagnostic(&RULE.code, range.span, message)
                .primary_label("no client of the public endpoint has such an address")
                .help("write the public addresses of your network, such as `203.0.113.0/24`")
                .emit();
        }
    }
}
