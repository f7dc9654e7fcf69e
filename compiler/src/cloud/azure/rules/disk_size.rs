//! A disk that is larger than AKS makes them.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A disk that is larger than AKS makes them.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2726",
        name: "aks-disk-size",
        severity: Severity::Error,
        summary: "a disk is larger than AKS makes them",
        explain: "### What it checks

Whether `diskGiB` is at most 2048.

### Why it matters

AKS refuses larger OS disks.

### What to do

Write a smaller size; GPU sizes have local NVMe disks for data.
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
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    diskGiB: 4096
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
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    diskGiB: 2048
"#,
    },
    run,
};

/// The largest OS disk of a node in GiB.
///
/// Source: Azure/azure-rest-api-specs, Microsoft.ContainerService `ContainerServiceOSDisk` (maximum 2048), 2026-11-21.
const LARGEST: u32 = 2048;

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let disk = pool.written.disk_gib;
        if disk.value > LARGEST {
            report
                .draft(
                    &RULE.code,
                    disk.span,
                    format!("AKS makes no disk of {disk} GiB"),
                )
                .help(format!("write {LARGEST} or less"))
                .replace(disk.span, LARGEST.to_string())
                .emit();
        }
    }
}
