//! A choice of repairs that the cloud does not give.

use super::Rule;
use crate::cloud::Repairs;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A choice of repairs that the cloud does not give.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2105",
        name: "auto-repair-fixed",
        severity: Severity::Error,
        summary: "the cloud gives no choice of whether broken nodes are replaced",
        explain: "### What it checks

Whether the cloud does with broken nodes what `autoRepair` of a pool says.

### Why it matters

GKE in a release channel and AKS always replace nodes that are broken, and nobody replaces hosts
of your own. A key that changes nothing would promise more than there is.

### What to do

Remove `autoRepair`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, autoRepair: false}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NC4as_T4_v3, nodes: {count: 1}}
"#,
    },
    run,
};

/// Sources: <https://learn.microsoft.com/en-us/azure/aks/node-auto-repair> and
/// <https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-auto-repair>, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(repair) = pool.written.auto_repair else {
            continue;
        };
        let message = match facts.repairs {
            Repairs::WhenAsked => continue,
            Repairs::Always => format!("{} always replaces broken nodes", facts.name),
            Repairs::Never => "nobody replaces broken hosts".to_owned(),
        };
        report
            .draft(&RULE.code, repair.span, message)
            .help("remove `autoRepair`")
            .emit();
    }
}
