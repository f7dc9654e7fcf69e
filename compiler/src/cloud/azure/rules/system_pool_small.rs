//! A system pool that may have a single node.

use super::super::system_pool;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A system pool that may have a single node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2707",
        name: "aks-system-pool-small",
        severity: Severity::Warning,
        summary: "the system pool may have a single node",
        explain: "### What it checks

Whether the pool that a new cluster begins with always has two nodes.

### Why it matters

CoreDNS and what else the cluster needs run there. AKS asks for two nodes, and for three where it
matters; with one, every upgrade and every fault of a machine stops them.

### What to do

Raise the fewest nodes to 2 or 3.
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
    nodes: {count: 1}
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
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(pool) = system_pool(cluster) else {
        return;
    };
    let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 1) else {
        return;
    };
    let message = format!("the system pool `{}` may have a single node", pool.name);
    report
        .draft(&RULE.code, nodes.min_span, message)
        .help("raise it to 2; AKS recommends 3 for production")
        .emit();
}
