//! `autoRepair` is set, but the cloud does not support the choice.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::NodeRepair;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2105",
        name: "auto-repair-unsupported",
        severity: Severity::Error,
        summary: "the cloud does not support the choice between `autoRepair` on and off",
        checks: "Whether the cloud supports the choice that `autoRepair` of a pool makes.",
        reason: "GKE in a release channel and AKS always replace unhealthy nodes. gpuc never replaces your own hosts.
The key would have no effect.",
        remedy: "Remove `autoRepair`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, autoRepair: false}
"#,
        correction: Correction::Replace(", autoRepair: false", ""),
    },
    run,
};

/// Sources: <https://learn.microsoft.com/en-us/azure/aks/node-auto-repair> and
/// <https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-auto-repair>, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(repair) = pool.settings.auto_repair else {
            continue;
        };
        // The rule `gke-flex-start-conflict` reports it.
        if pool.flex_start().is_some() {
            continue;
        }
        let message = match facts.node_repair {
            NodeRepair::IfEnabled => continue,
            NodeRepair::Always => format!("{} always replaces unhealthy nodes", facts.name),
            NodeRepair::Never => "`autoRepair` is not supported for your own hosts".to_owned(),
        };
        report
            .diagnostic(&RULE.code, repair.span, message)
            .help("remove `autoRepair`")
            .emit();
    }
}
