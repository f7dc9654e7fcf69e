//! MIG on a size where AKS does not do it.

use super::super::mig;
use super::size;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// MIG on a size where AKS does not do it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2714",
        name: "aks-mig-size",
        severity: Severity::Error,
        summary: "AKS cannot cut the GPUs of this size",
        explain: "### What it checks

Whether AKS does MIG on a pool's size: on those with A100, H100 and H200.

### Why it matters

AKS's nodes come with MIG on or off. Where AKS does not turn it on, nothing on the node may.

### What to do

Take a size that AKS can cut, or share the GPU by time-slicing or MPS.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_ND128isr_GB300_v6
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md`@04921f5f, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let whole = size(pool).filter(|size| !size.aks_mig);
        let Some(size) = whole.filter(|_| mig::is_cut_by_aks(pool)) else {
            continue;
        };
        let message = format!("AKS cannot cut the GPUs of `{}`", size.machine.name);
        report
            .draft(&RULE.code, pool.written.sharing.span, message)
            .label(gpus.chosen, "the machine is chosen here")
            .help("take a size with A100, H100 or H200, or share with `timeSlicing` or `mps`")
            .emit();
    }
}
