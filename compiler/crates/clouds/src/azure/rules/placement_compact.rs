//! Compact placement without a proximity placement group.

use gpuc_schema::config::Placement;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2721",
        name: "aks-placement-compact",
        severity: Severity::Error,
        summary: "compact placement on AKS requires a proximity placement group",
        checks: "Whether a pool with compact placement names its proximity placement group.",
        reason: "AKS does not create proximity placement groups.",
        remedy: "Create one with `az ppg create` and write `placement: {group: …}` with its resource ID. Sizes with
InfiniBand are close together without one.",
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
    network: {placement: compact}
"#,
        correction: Correction::Replace("compact", "{group: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Compute/proximityPlacementGroups/near}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let placement = pool.settings.network.placement.as_ref();
        if let Some(compact) =
            placement.filter(|placement| matches!(placement.value, Placement::Compact))
        {
            let message = format!(
                "AKS does not create a placement group for pool `{}`",
                pool.name
            );
            report
                .diagnostic(&RULE.code, compact.span, message)
                .help("create one with `az ppg create` and write `placement: {group: ID}`")
                .emit();
        }
    }
}
