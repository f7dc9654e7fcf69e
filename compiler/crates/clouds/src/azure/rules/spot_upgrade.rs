//! Upgrade settings of a spot pool.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2711",
        name: "aks-spot-upgrade",
        severity: Severity::Error,
        summary: "a spot pool sets `maxSurge` or `maxUnavailable`",
        checks: "Whether a pool of spot machines sets `maxSurge` or `maxUnavailable`.",
        reason: "AKS creates no surge nodes for spot pools, and evicts the nodes that it upgrades. It refuses a spot pool with
one of these settings.",
        remedy: "Remove `upgrade` from the pool.",
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

/// Sources: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21;
/// hashicorp/terraform-provider-azurerm#19355 and #31129, read 2026-11-25.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let capacity = &pool.settings.capacity;
        let (Capacity::Spot(_), Some(upgrade)) = (&capacity.value, &pool.settings.upgrade) else {
            continue;
        };
        for (key, count) in [
            ("maxSurge", upgrade.max_surge),
            ("maxUnavailable", upgrade.max_unavailable),
        ] {
            let Some(count) = count else { continue };
            let message = format!("`{key}` cannot be set on spot pool `{}`", pool.name);
            report
                .diagnostic(&RULE.code, count.span, message)
                .label(
                    capacity.span,
                    "AKS has no upgrade settings for spot machines",
                )
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}
