//! Another driver on a size that needs the GRID driver.

use gpuc_schema::config::DriverOwner;

use super::super::machines::AksDriver;
use super::size;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Another driver on a size that needs the GRID driver.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2713",
        name: "aks-grid-driver",
        severity: Severity::Error,
        summary: "a size needs the GRID driver, which only AKS installs",
        explain: "### What it checks

Whether AKS installs the driver on sizes with an A10 or an RTX PRO 6000.

### Why it matters

These sizes have virtual GPUs, which work with NVIDIA's GRID driver alone. AKS has it and its
licence; the GPU Operator installs the data-centre driver, which finds no GPU there.

### What to do

Write `stack: {driver: preinstalled}` on the pool.
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
    machine: Standard_NV36ads_A10_v5
    nodes: {count: 1}
    stack: {driver: operator}
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
    machine: Standard_NV36ads_A10_v5
    nodes: {count: 1}
    stack: {driver: preinstalled}
"#,
    },
    run,
};

/// Source: Azure/karpenter-provider-azure@352646f5 `pkg/utils/gpu.go`, which driver each size gets; read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let grid = size(pool).filter(|size| size.aks_driver != AksDriver::CudaLts);
        let Some(size) = grid.filter(|_| pool.driver.value != DriverOwner::Preinstalled) else {
            continue;
        };
        let span = if pool.driver.span.is_written() {
            pool.driver.span
        } else {
            pool.plugin.span
        };
        let message = format!(
            "`{}` needs the GRID driver, which AKS installs",
            size.machine.name
        );
        let draft = report
            .draft(&RULE.code, span, message)
            .label(gpus.chosen, "virtual GPUs")
            .help("write `driver: preinstalled`");
        let draft = if pool.written.stack.driver.is_some() {
            draft.replace(span, "preinstalled")
        } else {
            draft
        };
        draft.emit();
    }
}
