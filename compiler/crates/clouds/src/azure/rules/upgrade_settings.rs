//! Conflicting upgrade settings.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2712",
        name: "aks-upgrade-settings",
        severity: Severity::Error,
        summary: "the upgrade settings of a pool conflict",
        checks: "Whether exactly one of `maxSurge` and `maxUnavailable` is greater than 0, if they are set, and `blueGreen` is not
set.",
        reason: "With both at 0, AKS cannot replace any node and refuses the pool. With both above 0, AKS requires a
preview extension of `az`, and so it does for blue-green upgrades.",
        remedy: "Set `maxSurge` to create replacement nodes first, or `maxUnavailable` if no additional machines are
available.",
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
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    upgrade: {maxSurge: 0}
"#,
        correction: Correction::Replace("maxSurge: 0", "maxSurge: 0, maxUnavailable: 1"),
    },
    run,
};

/// Sources: MicrosoftDocs/azure-aks-docs `articles/aks/upgrade-aks-node-pools-rolling.md`@32892028, read 2026-11-21;
/// `articles/aks/blue-green-node-pool-upgrade.md`@007506ca, read 2026-11-24.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(upgrade) = &pool.settings.upgrade else {
            continue;
        };
        if let Some(blue_green) = &upgrade.blue_green {
            let message = format!(
                "pool `{}`: blue-green upgrades require a preview of AKS",
                pool.name
            );
            report
                .diagnostic(&RULE.code, blue_green.span, message)
                .help("remove `blueGreen`; `maxSurge` sets how many new nodes AKS creates first")
                .emit();
        }
        let surge = upgrade.max_surge.map(|count| count.value);
        let unavailable = upgrade.max_unavailable.map(|count| count.value);
        let (message, help) = match (surge, unavailable) {
            (Some(0), None | Some(0)) => (
                "`maxSurge` and `maxUnavailable` cannot both be 0",
                "write `upgrade: {maxSurge: 0, maxUnavailable: 1}`, or a `maxSurge` above 0",
            ),
            (Some(1..), Some(1..)) => (
                "`maxSurge` and `maxUnavailable` above 0 require a preview of AKS",
                "keep one of `maxSurge` and `maxUnavailable` above 0",
            ),
            _ => continue,
        };
        let message = format!("pool `{}`: {message}", pool.name);
        report
            .diagnostic(&RULE.code, upgrade.span, message)
            .help(help)
            .emit();
    }
}
