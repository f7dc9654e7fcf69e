//! Evicted spot machines that stay.

use gpuc_schema::config::{Capacity, Eviction};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Evicted spot machines that stay.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2709",
        name: "aks-spot-deallocate",
        severity: Severity::Warning,
        summary: "evicted spot machines stay and count",
        explain: "### What it checks

Whether a pool of spot machines deletes what is evicted.

### Why it matters

With `eviction: deallocate` an evicted machine stays, stopped: it counts against the quota and can
keep the autoscaler and upgrades from working.

### What to do

Write `eviction: delete`, or leave it out.
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
    nodes: {min: 1, max: 4}
    capacity: {spot: {eviction: deallocate}}
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
    nodes: {min: 1, max: 4}
    capacity: {spot: {eviction: delete}}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Capacity::Spot(spot) = &pool.written.capacity.value else {
            continue;
        };
        let Some(eviction) = &spot.eviction else {
            continue;
        };
        if eviction.value == Eviction::Deallocate {
            let message = format!(
                "evicted machines of pool `{}` stay and count against the quota",
                pool.name
            );
            report
                .draft(&RULE.code, eviction.span, message)
                .help("write `delete`")
                .replace(eviction.span, "delete")
                .emit();
        }
    }
}
