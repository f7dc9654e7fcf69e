//! Pool in a different network than the cluster.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{create_section, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2720",
        name: "aks-cluster-subnet-missing",
        severity: Severity::Error,
        summary: "a pool sets a subnet and the cluster does not",
        checks: "Whether a cluster that gpuc creates sets a subnet if one of its pools sets one.",
        reason: "All pools of a cluster are in one virtual network. Without `cluster.create.subnet`, AKS creates a
network for the cluster and refuses pools in any other network.",
        remedy: "Write `cluster: {create: {subnet: …}}` with a subnet of the same virtual network.",
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
    nodes: {count: 1}
    subnets:
      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/gpu
"#,
        correction: Correction::Replace("create: {", "create: {subnet: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/system, "),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if create_section(cluster).is_none_or(|create| create.subnet.is_some()) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        if let Some(subnet) = pool.settings.subnets.first() {
            let message = format!(
                "pool `{}` is in a different network than the cluster",
                pool.name
            );
            report
                .diagnostic(&RULE.code, subnet.span, message)
                .label(
                    section(&cluster.config).cluster.span,
                    "AKS creates a network for the cluster",
                )
                .help("write `cluster: {create: {subnet: …}}` with a subnet of the same virtual network")
                .emit();
        }
    }
}
