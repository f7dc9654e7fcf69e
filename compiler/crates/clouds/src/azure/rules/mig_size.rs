//! MIG on a VM size for which AKS does not support it.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::mig;
use super::catalog_size;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2714",
        name: "aks-mig-size",
        severity: Severity::Error,
        summary: "AKS does not support MIG on this VM size",
        checks: "Whether AKS supports MIG on the VM size of a pool. It does on sizes with A100, H100 and H200.",
        reason: "AKS enables MIG when it creates a node. Where AKS does not enable it, no component may enable it later.",
        remedy: "Choose a size for which AKS supports MIG, or share the GPU by time-slicing or MPS.",
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
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.35gb, count: 7}]}]}}
"#,
        correction: Correction::Replace(
            "mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.35gb, count: 7}]}]",
            "timeSlicing: {replicas: 4",
        ),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md`@04921f5f, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let unsupported = catalog_size(pool).filter(|size| !size.aks_mig);
        let Some(size) = unsupported.filter(|_| mig::is_partitioned_by_aks(pool)) else {
            continue;
        };
        let message = format!("AKS does not support MIG on `{}`", size.machine.name);
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .label(gpus.span, "the machine type is set here")
            .help("choose a size with A100, H100 or H200, or share with `timeSlicing` or `mps`")
            .emit();
    }
}
