//! Upgrade settings that contradict each other.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Upgrade settings that contradict each other.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2712",
        name: "aks-upgrade-settings",
        severity: Severity::Error,
        summary: "the upgrade settings of a pool contradict each other",
        explain: "### What it checks

Whether exactly one of `maxSurge` and `maxUnavailable` is more than 0 where they are written.

### Why it matters

With both at 0 no node could ever be replaced, and AKS refuses it. With both above 0 AKS needs a
preview extension of `az`.

### What to do

Write `maxSurge` to replace nodes beside the old ones, or `maxUnavailable` where no machine can be
spared.
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
    upgrade: {maxSurge: 0}
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
    upgrade: {maxSurge: 0, maxUnavailable: 1}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/upgrade-aks-node-pools-rolling.md`@32892028, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(upgrade) = &pool.written.upgrade else {
            continue;
        };
        let surge = upgrade.max_surge.map(|count| count.value);
        let missing = upgrade.max_unavailable.map(|count| count.value);
        let (message, help) = match (surge, missing) {
            (Some(0), None | Some(0)) => (
                "no node may be added and none may be missing",
                "write `upgrade: {maxSurge: 0, maxUnavailable: 1}`, or a `maxSurge` above 0",
            ),
            (Some(1..), Some(1..)) => (
                "nodes may be added and may be missing: AKS does both only in a preview",
                "keep one of `maxSurge` and `maxUnavailable` above 0",
            ),
            _ => continue,
        };
        let message = format!("in an upgrade of pool `{}` {message}", pool.name);
        report
            .draft(&RULE.code, upgrade.span, message)
            .help(help)
            .emit();
    }
}
