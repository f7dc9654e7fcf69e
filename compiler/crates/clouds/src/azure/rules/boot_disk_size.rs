//! Boot disk larger than the temporary disk.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::LocalDisks;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::temporary_disk;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2733",
        name: "aks-boot-disk-size",
        severity: Severity::Error,
        summary: "a boot disk is larger than the temporary disk of its VM size",
        checks: "Whether `diskGiB` is at most the size of the VM's temporary disk, for pools with `localDisks: boot`.",
        reason: "AKS refuses a pool whose ephemeral OS disk is larger than the disk that holds it.",
        remedy: "Set a smaller `diskGiB`, choose a larger VM size, or set `localDisks: none` for a managed disk.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NV6ads_A10_v5, nodes: {count: 1}, localDisks: boot, diskGiB: 512}
"#,
        correction: Correction::Replace("diskGiB: 512", "diskGiB: 180"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs articles/aks/concepts-storage.md@fb060abe, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(disks) =
            (pool.settings.local_disks).filter(|disks| disks.value == LocalDisks::Boot)
        else {
            continue;
        };
        let disk = pool.settings.disk_gib;
        let Some(available) = temporary_disk(pool).filter(|available| *available < disk.value)
        else {
            continue;
        };
        let message = format!(
            "a boot disk of {disk} GiB does not fit on the temporary disk of {available} GiB"
        );
        let span = if disk.span.is_written() {
            disk.span
        } else {
            disks.span
        };
        report
            .diagnostic(&RULE.code, span, message)
            .label(disks.span, "the boot disk is placed on the temporary disk")
            .help(format!(
                "set `diskGiB` to {available} or less, or write `localDisks: none`"
            ))
            .emit();
    }
}
