//! Nodes close together without a group.

use gpuc_schema::config::Placement;

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nodes close together without a group.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2721",
        name: "aks-placement-compact",
        severity: Severity::Error,
        summary: "AKS places nodes close together only in a group",
        explain: "### What it checks

Whether a pool names the proximity placement group that its nodes shall be in.

### Why it matters

AKS makes no such group by itself.

### What to do

Make one with `az ppg create` and write `placement: {group: …}` with its resource id. Sizes with
InfiniBand are close together without one.
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
    network: {placement: compact}
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
    network: {placement: {group: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Compute/proximityPlacementGroups/near}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let placement = pool.written.network.placement.as_ref();
        if let Some(compact) = placement.filter(|it| matches!(it.value, Placement::Compact)) {
            let message = format!("AKS makes no placement group for pool `{}`", pool.name);
            report
                .draft(&RULE.code, compact.span, message)
                .help("make one with `az ppg create` and write `placement: {group: ID}`")
                .emit();
        }
    }
}
