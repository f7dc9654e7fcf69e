//! Evicted spot machines that are not deleted.

use gpuc_schema::config::{Capacity, Eviction};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2709",
        name: "aks-spot-deallocate",
        severity: Severity::Warning,
        summary: "evicted spot machines are not deleted and count against the quota",
        checks: "Whether a pool of spot machines deletes evicted machines.",
        reason: "With `eviction: deallocate`, Azure stops an evicted machine but keeps it. The machine counts against
the quota and can block the autoscaler and upgrades.",
        remedy: "Write `eviction: delete`, or remove `eviction`.",
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
    capacity: {spot: {eviction: deallocate}}
"#,
        correction: Correction::Replace("deallocate", "delete"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Capacity::Spot(spot) = &pool.settings.capacity.value else {
            continue;
        };
        let Some(eviction) = &spot.eviction else {
            continue;
        };
        if eviction.value == Eviction::Deallocate {
            let message = format!(
                "pool `{}` keeps evicted machines, which count against the quota",
                pool.name
            );
            report
                .diagnostic(&RULE.code, eviction.span, message)
                .help("write `delete`")
                .replace(eviction.span, "delete")
                .emit();
        }
    }
}
