//! A range of addresses that AKS does not authorize.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::Ipv4Range;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Source: azure-cli 2.91.0, `acs/_validators.py` (`validate_ip_ranges`).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2751",
        name: "aks-range-not-global",
        severity: Severity::Error,
        summary: "a range of authorized addresses is not public",
        checks: "Whether each range of `authorizedIpRanges` is a public one. `0.0.0.0/32`, which allows only the cluster,
must be alone.",
        reason: "The API server sees the public address of a client, and `az` refuses private and reserved ranges, such as
those for documentation. A list of private ranges excludes everyone.",
        remedy: "Write the public addresses of your network.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, authorizedIpRanges: [10.0.0.0/8]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("10.0.0.0/8", "73.140.245.0/24"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let ranges = &create.authorized_ip_ranges;
    for range in ranges {
        let Ok(parsed) = Ipv4Range::parse(range) else {
            continue;
        };
        let is_only_cluster = range.as_str() == ONLY_CLUSTER;
        let message = if is_only_cluster && ranges.len() > 1 {
            format!("`{ONLY_CLUSTER}` cannot be combined with other ranges")
        } else if !is_only_cluster && (parsed.is_private() || is_for_documentation(parsed)) {
            format!("the range `{range}` has no public addresses")
        } else {
            continue;
        };
        report
            .diagnostic(&RULE.code, range.span, message)
            .help("remove it, or write the public addresses of your network")
            .emit();
    }
}

/// The range that allows only the cluster itself.
const ONLY_CLUSTER: &str = "0.0.0.0/32";

/// Whether a range is one of those for documentation, which `az` refuses (Python `ipaddress`, `is_global`).
fn is_for_documentation(range: Ipv4Range) -> bool {
    let reserved = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"];
    let mut reserved = reserved
        .iter()
        .filter_map(|text| Ipv4Range::parse(text).ok());
    reserved.any(|reserved| reserved.contains(range))
}
