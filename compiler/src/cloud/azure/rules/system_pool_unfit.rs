//! A system pool that AKS refuses.

use gpuc_schema::Span;

use super::super::system_pool;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, MachineType, Pool};

/// A system pool that AKS refuses.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2706",
        name: "aks-system-pool-unfit",
        severity: Severity::Error,
        summary: "the system pool cannot be one",
        explain: "### What it checks

Whether the pool that a new cluster begins with, the first without GPUs, has what AKS asks of a
system pool: a node at all times, 4 vCPUs and 4 GiB, not of the B series, room for 30 pods, and no
node missing in an upgrade.

### Why it matters

AKS refuses to make the cluster.

### What to do

Change the pool, or put another pool without GPUs before it.
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
    nodes: {min: 0, max: 3}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
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
    nodes: {min: 2, max: 3}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/use-system-pools.md`@04921f5f, its restrictions, and
/// `upgrade-aks-node-pools-rolling.md`@32892028, both read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let Some(pool) = system_pool(cluster) else {
        return;
    };
    for (span, message, help) in faults(pool) {
        report
            .draft(&RULE.code, span, message)
            .label(pool.name.span, "the cluster begins with this pool")
            .help(help)
            .emit();
    }
}

fn faults(pool: &Pool) -> Vec<(Span, String, &'static str)> {
    let mut faults = Vec::new();
    let name = &pool.name;
    if let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) {
        let message = format!("the system pool `{name}` may have no node at all");
        faults.push((nodes.min_span, message, "raise it to 2 or more"));
    }
    if let Some(machine) = &pool.written.machine {
        let small = match pool.machine.get() {
            Some(MachineType::Cpu(Some(cpu))) => cpu.vcpus < 4 || cpu.memory_mib < 4096,
            _ => false,
        };
        let burstable = machine
            .strip_prefix("Standard_B")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if small || burstable {
            let message = format!("`{machine}` is too small for the system pool `{name}`");
            let help = "take a size with 4 vCPUs or more that is not of the B series, such as `Standard_D4s_v5`";
            faults.push((machine.span, message, help));
        }
    }
    if let Some(pods) = pool.written.max_pods.filter(|pods| pods.value < 30) {
        let message = format!("the system pool `{name}` has room for {pods} pods on a node");
        faults.push((pods.span, message, "raise it to 30 or more"));
    }
    let upgrade = pool.written.upgrade.as_ref();
    let missing = upgrade.and_then(|upgrade| upgrade.max_unavailable);
    if let Some(missing) = missing.filter(|count| count.value > 0) {
        let message = format!("no node of the system pool `{name}` may be missing in an upgrade");
        faults.push((missing.span, message, "write `maxSurge` instead"));
    }
    faults
}
