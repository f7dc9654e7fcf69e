//! A pool in another network than the cluster.

use super::super::{created, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool in another network than the cluster.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2720",
        name: "aks-subnet-of-pool-only",
        severity: Severity::Error,
        summary: "a pool has a subnet and the cluster has none",
        explain: "### What it checks

Whether a cluster that gpuc makes has a subnet of the user's when one of its pools has.

### Why it matters

All pools of a cluster are in one virtual network. Without `cluster.create.subnet` AKS makes a
network of its own, and refuses a pool in any other.

### What to do

Write `cluster: {create: {subnet: …}}` with a subnet of the same network.
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
    subnets:
      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/gpu
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {subnet: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/system}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    subnets:
      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/gpu
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if created(cluster).is_none_or(|create| create.subnet.is_some()) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        if let Some(subnet) = pool.written.subnets.first() {
            let message = format!(
                "pool `{}` is in another network than the cluster",
                pool.name
            );
            report
                .draft(&RULE.code, subnet.span, message)
                .label(
                    section(&cluster.written).cluster.span,
                    "AKS makes a network for the cluster",
                )
                .help("write `cluster: {create: {subnet: …}}` with a subnet of the same network")
                .emit();
        }
    }
}
