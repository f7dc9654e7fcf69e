//! GPU size that AKS does not list.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::catalog_size;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2717",
        name: "aks-size-unlisted",
        severity: Severity::Warning,
        summary: "AKS does not list this GPU size",
        checks: "Whether the lists of GPU sizes that AKS publishes contain the VM size of a pool.",
        reason: "Azure sells sizes on which AKS cannot install a GPU driver. Their nodes start without GPUs.",
        remedy: "Choose a size that AKS lists. Or test this size first and accept it with `allow: [aks-size-unlisted]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NCC40ads_H100_v5
    nodes: {count: 1}
"#,
        correction: Correction::Replace("Standard_NCC40ads_H100_v5", "Standard_NC40ads_H100_v5"),
    },
    run,
};

/// Source: Azure/karpenter-provider-azure@352646f5 `pkg/utils/supported-gpus.yaml`, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(size) = catalog_size(pool).filter(|size| size.aks_os.is_empty()) else {
            continue;
        };
        let message = format!(
            "AKS does not list `{}` among its GPU sizes",
            size.machine.name
        );
        report
            .diagnostic(&RULE.code, gpus.span, message)
            .help("choose a size that `gpuc catalog machines` lists for AKS")
            .emit();
    }
}
