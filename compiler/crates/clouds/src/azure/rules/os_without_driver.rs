//! Operating system without a GPU driver for the VM size.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::OsFamily;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::machines::AksOs;
use super::catalog_size;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2716",
        name: "aks-os-without-driver",
        severity: Severity::Error,
        summary: "AKS has no GPU driver for this operating system on this VM size",
        checks: "Whether AKS supports the operating system of a pool on its GPU size.",
        reason: "AKS has no node image with a GPU driver for this combination. The pool cannot be created, or its
nodes have no GPUs.",
        remedy: "Choose an operating system that AKS supports on the size. The help names it.",
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
    machine: Standard_ND128isr_GB300_v6
    nodes: {count: 1}
    os: {family: AzureLinux}
"#,
        correction: Correction::Replace("AzureLinux", "Ubuntu"),
    },
    run,
};

/// Source: Azure/karpenter-provider-azure@352646f5 `pkg/utils/supported-gpus.yaml`, read 2026-11-21. From Kubernetes
/// 1.32 on `AzureLinux` is Azure Linux 3 (MicrosoftDocs/azure-aks-docs `articles/aks/upgrade-os-version.md`@024a50aa).
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(size) = catalog_size(pool).filter(|size| !size.aks_os.is_empty()) else {
            continue;
        };
        let required = match pool.os.value {
            OsFamily::AzureLinux => AksOs::AzureLinux3,
            OsFamily::Ubuntu | OsFamily::Ubuntu2204 | OsFamily::Ubuntu2404 => AksOs::Ubuntu,
            // Another rule reports operating systems that AKS does not support at all.
            _ => continue,
        };
        if size.aks_os.contains(&required) {
            continue;
        }
        let message = format!(
            "AKS has no GPU driver for {:?} on `{}`",
            pool.os.value, size.machine.name
        );
        report
            .diagnostic(&RULE.code, pool.os.span, message)
            .label(gpus.span, "the machine type is set here")
            .help("write `Ubuntu`")
            .replace(pool.os.span, "Ubuntu")
            .emit();
    }
}
