//! A boot disk that does not fit onto the temporary disk.

use gpuc_schema::config::LocalDisks;

use super::super::temporary_disk;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A boot disk that does not fit onto the temporary disk.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2733",
        name: "aks-boot-disk-size",
        severity: Severity::Error,
        summary: "a boot disk does not fit onto the temporary disk",
        explain: "### What it checks

Whether `diskGiB` is at most the temporary disk of the size, where `localDisks` is `boot`.

### Why it matters

AKS refuses a pool whose ephemeral OS disk is larger than what holds it.

### What to do

Write a smaller `diskGiB`, a larger size, or `localDisks: none` for a managed disk.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NV6ads_A10_v5, nodes: {count: 1}, localDisks: boot, diskGiB: 512}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NV6ads_A10_v5, nodes: {count: 1}, localDisks: boot, diskGiB: 180}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs articles/aks/concepts-storage.md@fb060abe, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(disks) = (pool.written.local_disks).filter(|it| it.value == LocalDisks::Boot)
        else {
            continue;
        };
        let disk = pool.written.disk_gib;
        let Some(room) = temporary_disk(pool).filter(|room| *room < disk.value) else {
            continue;
        };
        let message = format!("a boot disk of {disk} GiB does not fit onto {room} GiB");
        let span = if disk.span.is_written() {
            disk.span
        } else {
            disks.span
        };
        report
            .draft(&RULE.code, span, message)
            .label(disks.span, "the temporary disk is to hold it")
            .help(format!(
                "write `diskGiB: {room}` or less, or `localDisks: none`"
            ))
            .emit();
    }
}
