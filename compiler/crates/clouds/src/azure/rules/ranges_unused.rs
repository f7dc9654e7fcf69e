//! Authorized ranges of a private API server.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Source: azure-cli 2.91.0, `acs/managed_cluster_decorator.py` (`_get_api_server_authorized_ip_ranges`).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2752",
        name: "aks-ranges-unused",
        severity: Severity::Error,
        summary: "`authorizedIpRanges` has no effect for a private API server",
        checks: "Whether `authorizedIpRanges` is set together with `privateCluster: true`.",
        reason: "A private API server has no public address, and `az` refuses the two flags together.",
        remedy: "Remove `authorizedIpRanges`, or `privateCluster`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, privateCluster: true, authorizedIpRanges: [73.140.245.0/24]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("privateCluster: true, ", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let Some(range) = create.authorized_ip_ranges.first() else {
        return;
    };
    if create.private_cluster.value {
        report
            .diagnostic(
                &RULE.code,
                create.private_cluster.span,
                "`authorizedIpRanges` has no effect for a private API server",
            )
            .label(range.span, "the ranges are set here")
            .help("write `false`, or remove `authorizedIpRanges`")
            .emit();
    }
}
