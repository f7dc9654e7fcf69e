//! Surge nodes on a spot pool.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2711",
        name: "aks-spot-surge",
        severity: Severity::Error,
        summary: "a spot pool sets `maxSurge`",
        checks: "Whether a pool of spot machines sets `maxSurge`.",
        reason: "AKS creates no surge nodes for spot pools. It accepts the setting and ignores it.",
        remedy: "Remove `maxSurge` from the pool.",
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
    nodes: {min: 1, max: 4}
    capacity: {spot: {}}
    upgrade: {maxSurge: 1}
"#,
        correction: Correction::Replace(
            "    upgrade: {maxSurge: 1}
",
            "",
        ),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let capacity = &pool.settings.capacity;
        let upgrade = pool.settings.upgrade.as_ref();
        let surge = upgrade.and_then(|upgrade| upgrade.max_surge);
        if let (Capacity::Spot(_), Some(surge)) = (&capacity.value, surge.filter(|n| n.value > 0)) {
            let message = format!("`maxSurge` has no effect on pool `{}`", pool.name);
            report
                .diagnostic(&RULE.code, surge.span, message)
                .label(
                    capacity.span,
                    "AKS creates no surge nodes for spot machines",
                )
                .help("remove `maxSurge`")
                .emit();
        }
    }
}
