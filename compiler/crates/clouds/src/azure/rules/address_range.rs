//! Range of addresses that AKS refuses.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::address_ranges::{DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR};
use super::super::create_section;
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2750",
        name: "aks-address-range",
        severity: Severity::Error,
        summary: "a range of addresses of the cluster is invalid",
        checks: "Whether `podCidr` and `serviceCidr` are IPv4 networks without host bits, do not overlap, and have a valid
size, and whether `podCidr` has addresses for all nodes.",
        reason: "AKS refuses other ranges, and the ranges of a cluster cannot be changed after creation.",
        remedy: "Write two ranges that do not overlap, such as 10.244.0.0/16 for pods and 10.0.0.0/16 for Services.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, serviceCidr: 10.0.0.0/8}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("10.0.0.0/8", "10.100.0.0/16"),
    },
    run,
};

/// The prefix lengths of a range of Services: AKS requires that it is smaller than /12. Ten addresses are below that of
/// the DNS service.
const SERVICE_PREFIXES: std::ops::RangeInclusive<u32> = 13..=27;

/// Ranges that AKS reserves. Source: docs.azure.cn/en-us/aks/azure-cni-overview, "Prerequisites", 2026-11-24.
const RESERVED: &[&str] = &[
    "169.254.0.0/16",
    "172.30.0.0/16",
    "172.31.0.0/16",
    "192.0.2.0/24",
];

/// The prefix lengths of a range of pods, of which each node gets a /24.
const POD_PREFIXES: std::ops::RangeInclusive<u32> = 8..=24;

/// Sources: learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay ("IP address planning") and
/// learn.microsoft.com/azure/aks/configure-azure-cni (service address range), 2026-11-24.
fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let pods = range(
        create.pod_cidr.as_ref(),
        DEFAULT_POD_CIDR,
        &POD_PREFIXES,
        report,
    );
    let services = range(
        create.service_cidr.as_ref(),
        DEFAULT_SERVICE_CIDR,
        &SERVICE_PREFIXES,
        report,
    );
    if let (Some(pods), Some(written)) = (pods, &create.pod_cidr) {
        check_size(cluster, pods, written, report);
    }
    let written = create.service_cidr.as_ref().or(create.pod_cidr.as_ref());
    if let (Some(pods), Some(services), Some(written)) = (pods, services, written)
        && pods.overlaps(services)
    {
        let message =
            format!("the range of pods, {pods}, overlaps with that of Services, {services}");
        report
            .diagnostic(&RULE.code, written.span, message)
            .help("set `podCidr` and `serviceCidr` to ranges that do not overlap")
            .emit();
    }
}

/// The addresses of pods on each node: a /24.
const NODE_PREFIX: u32 = 24;

/// Reports a range of pods with fewer blocks of addresses than the pools have nodes.
fn check_size(cluster: &Cluster, pods: Ipv4Range, written: &Spanned<String>, report: &mut Report) {
    let nodes = cluster.pools.iter().filter_map(|pool| pool.nodes.get());
    let nodes: u64 = nodes.map(|nodes| u64::from(nodes.max)).sum();
    let blocks = |prefix: u32| 1_u64 << NODE_PREFIX.saturating_sub(prefix);
    if blocks(pods.prefix()) >= nodes {
        return;
    }
    let mut prefixes = POD_PREFIXES.rev();
    let enough = prefixes.find(|prefix| blocks(*prefix) >= nodes);
    let help = enough.map_or_else(
        || "lower the maximum number of nodes".to_owned(),
        |prefix| format!("use a prefix length of {prefix} or less"),
    );
    let message = format!(
        "the range of pods, {pods}, has addresses for {}, and the pools have up to {nodes}",
        pluralize(
            usize::try_from(blocks(pods.prefix())).unwrap_or(usize::MAX),
            "node"
        )
    );
    report
        .diagnostic(&RULE.code, written.span, message)
        .primary_label("AKS gives each node a /24")
        .help(help)
        .emit();
}

/// The range, or a finding.
fn range(
    written: Option<&Spanned<String>>,
    default: &str,
    prefixes: &std::ops::RangeInclusive<u32>,
    report: &mut Report,
) -> Option<Ipv4Range> {
    let Some(written) = written else {
        return Ipv4Range::parse(default).ok();
    };
    let reserved = |range: Ipv4Range| {
        let mut all = RESERVED
            .iter()
            .filter_map(|text| Ipv4Range::parse(text).ok());
        all.find(|reserved| reserved.overlaps(range))
    };
    match Ipv4Range::parse(written) {
        Ok(range) if reserved(range).is_some() => {
            let message = format!("invalid range `{written}`: AKS reserves a part of it");
            report
                .diagnostic(&RULE.code, written.span, message)
                .primary_label(format!("must not overlap with {}", RESERVED.join(", ")))
                .help(format!("write a range such as `{default}`"))
                .emit();
        }
        Ok(range) if prefixes.contains(&range.prefix()) => return Some(range),
        Err(RangeError::HostBits(network)) if prefixes.contains(&network.prefix()) => {
            let message = format!("invalid range `{written}`: host bits are set");
            report
                .diagnostic(&RULE.code, written.span, message)
                .help(format!("write `{network}`"))
                .replace(written.span, network.to_string())
                .emit();
        }
        _ => {
            let (first, last) = (prefixes.start(), prefixes.end());
            let label =
                format!("must be an IPv4 network with a prefix length of {first} to {last}");
            report
                .diagnostic(
                    &RULE.code,
                    written.span,
                    format!("invalid range `{written}`"),
                )
                .primary_label(label)
                .help(format!("write a range such as `{default}`"))
                .emit();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use gpuc_model::check::check;

    use crate::testing::{json, resolved};

    fn is_refused(pods: &str, services: &str) -> bool {
        let mut config = json(super::RULE.code.bad);
        let create = &mut config["cloud"]["azure"]["cluster"]["create"];
        create["podCidr"] = pods.into();
        create["serviceCidr"] = services.into();
        let (cluster, mut report) = resolved(config);
        check(&cluster, &mut report);
        let mut found = report.diagnostics().iter();
        found.any(|finding| finding.code.id == super::RULE.code.id)
    }

    #[test]
    fn ranges_are_checked() {
        assert!(!is_refused("10.200.0.0/14", "10.100.0.0/16"));
        for (pods, services) in [
            ("10.200.0.0/25", "10.100.0.0/16"),
            ("10.200.0.0/14", "10.100.0.0/12"),
            ("10.200.0.0/14", "10.100.0.0/28"),
            ("10.200.0.1/14", "10.100.0.0/16"),
            ("10.0.0.0/8", "10.100.0.0/16"),
            ("169.254.0.0/16", "10.100.0.0/16"),
            ("10.200.0.0/14", "172.30.128.0/17"),
            ("10.200.0.0", "10.100.0.0/16"),
        ] {
            assert!(is_refused(pods, services), "{pods} {services}");
        }
    }

    /// The cluster has two nodes.
    #[test]
    fn range_has_addresses_for_all_nodes() {
        assert!(!is_refused("10.200.0.0/23", "10.100.0.0/16"));
        assert!(is_refused("10.200.0.0/24", "10.100.0.0/16"));
    }
}
