//! Authorized networks of an API server with a DNS name for all networks.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::create_section;

/// Source: docs.cloud.google.com/kubernetes-engine/docs/concepts/network-isolation, general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2652",
        name: "gke-dns-endpoint-open",
        severity: Severity::Warning,
        summary: "authorized networks do not limit the DNS endpoint",
        checks: "Whether a cluster with `authorizedNetworks` has `dnsEndpoint: true`.",
        reason: "Authorized networks limit the addresses of the API server only. Its DNS name answers every network, and IAM alone
decides who uses it.",
        remedy: "Remove `dnsEndpoint`, or `authorizedNetworks`. If only the addresses are to be limited, add
`allow: [gke-dns-endpoint-open]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {dnsEndpoint: true, authorizedNetworks: [203.0.113.0/24]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("dnsEndpoint: true, ", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(&cluster.config) else {
        return;
    };
    let dns = create.dns_endpoint.filter(|dns| dns.value);
    if let (Some(dns), Some(network)) = (dns, create.authorized_networks.first()) {
        report
            .diagnostic(
                &RULE.code,
                dns.span,
                "authorized networks do not limit the DNS endpoint",
            )
            .label(network.span, "limits the addresses of the API server only")
            .help("write `false`, or remove `authorizedNetworks`")
            .emit();
    }
}
