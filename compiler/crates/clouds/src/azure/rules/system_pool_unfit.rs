//! System pool that AKS refuses.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::system_pool;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2706",
        name: "aks-system-pool-unfit",
        severity: Severity::Error,
        summary: "a pool does not meet the requirements of a system pool",
        checks: "Whether the first pool without GPUs, which becomes the system pool of a new cluster, meets the
requirements of AKS. A system pool always has a node, and each node has at least 4 vCPUs and 4 GiB of
memory. Sizes of the B series are not supported. A node accepts at least 30 pods. No node is
unavailable during an upgrade.",
        reason: "AKS refuses to create the cluster.",
        remedy: "Change the pool, or move another pool without GPUs before it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {min: 0, max: 3}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("{min: 0", "{min: 2"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/use-system-pools.md`@04921f5f, its restrictions, and
/// `upgrade-aks-node-pools-rolling.md`@32892028, both read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let Some(pool) = system_pool(cluster) else {
        return;
    };
    for (span, message, help) in violations(pool) {
        report
            .diagnostic(&RULE.code, span, message)
            .label(
                pool.name.span,
                "this pool is the system pool of the cluster",
            )
            .help(help)
            .emit();
    }
}

/// The requirements that the pool does not meet: location, message and help.
fn violations(pool: &Pool) -> Vec<(Span, String, &'static str)> {
    let mut violations = Vec::new();
    let name = &pool.name;
    if let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) {
        let message = format!("the system pool `{name}` can have no nodes");
        violations.push((nodes.min_span, message, "raise the minimum to 2 or more"));
    }
    if let Some(machine) = &pool.machine_name {
        let small = match pool.machine.get() {
            Some(MachineType::Cpu(Some(cpu))) => cpu.vcpus < 4 || cpu.memory_mib < 4096,
            _ => false,
        };
        let burstable = machine
            .strip_prefix("Standard_B")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if small || burstable {
            let message = format!("`{machine}` is too small for the system pool `{name}`");
            let help = "choose a size with at least 4 vCPUs that is not of the B series, such as `Standard_D4s_v5`";
            violations.push((machine.span, message, help));
        }
    }
    if let Some(pods) = pool.settings.max_pods.filter(|pods| pods.value < 30) {
        let message = format!("the system pool `{name}` allows only {pods} pods per node");
        violations.push((pods.span, message, "raise `maxPods` to 30 or more"));
    }
    let upgrade = pool.settings.upgrade.as_ref();
    let unavailable = upgrade.and_then(|upgrade| upgrade.max_unavailable);
    if let Some(unavailable) = unavailable.filter(|count| count.value > 0) {
        let message =
            format!("nodes of the system pool `{name}` must not be unavailable during an upgrade");
        violations.push((unavailable.span, message, "write `maxSurge` instead"));
    }
    violations
}
