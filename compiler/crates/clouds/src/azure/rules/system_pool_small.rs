//! System pool that can shrink to a single node.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::system_pool;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2707",
        name: "aks-system-pool-small",
        severity: Severity::Warning,
        summary: "the system pool can have a single node",
        checks: "Whether the system pool of a new cluster always has at least two nodes.",
        reason: "CoreDNS and other system components run in this pool. AKS recommends two nodes, and three for
production. With one node, every upgrade and every machine failure interrupts them.",
        remedy: "Raise the minimum number of nodes to 2 or 3.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 1}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("Standard_D4s_v5
    nodes: {count: 1}", "Standard_D4s_v5
    nodes: {count: 2}"),
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
    let message = format!("the system pool `{}` can have a single node", pool.name);
    report
        .diagnostic(&RULE.code, nodes.min_span, message)
        .help("raise the minimum to 2; AKS recommends 3 for production")
        .emit();
}
