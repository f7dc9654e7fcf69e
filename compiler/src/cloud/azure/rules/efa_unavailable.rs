//! EFA asked for on AKS.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// EFA asked for on AKS.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2722",
        name: "aks-efa-unavailable",
        severity: Severity::Error,
        summary: "EFA is asked for on AKS",
        explain: "### What it checks

Whether a pool has `network.efa`.

### Why it matters

EFA is a network of AWS's. What is written and does nothing misleads whoever reads it.

### What to do

Remove it. Sizes with InfiniBand, such as `Standard_ND96isr_H100_v5`, take `rdma: {infiniband: {}}`.
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
    network: {efa: {}}
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
    for efa in cluster
        .pools
        .iter()
        .filter_map(|pool| pool.written.network.efa.as_ref())
    {
        report
            .draft(
                &RULE.code,
                efa.span,
                "AKS has no EFA: it is a network of AWS's",
            )
            .help("remove `efa`; sizes with InfiniBand take `rdma: {infiniband: {}}`")
            .emit();
    }
}
