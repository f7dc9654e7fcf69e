//! Spot pool without autoscaling.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2708",
        name: "aks-spot-fixed",
        severity: Severity::Warning,
        summary: "a pool of spot machines has a fixed number of nodes",
        checks: "Whether every pool of spot machines is managed by the autoscaler.",
        reason: "Azure evicts spot machines, and only the autoscaler replaces them. A pool of a fixed size shrinks
over time until it has no nodes.",
        remedy: "Give the pool a range of nodes: `nodes: {min: 0, max: 4}`.",
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
    nodes: {count: 4}
    capacity: {spot: {}}
"#,
        correction: Correction::Replace("    nodes: {count: 4", "    nodes: {min: 1, max: 4"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/spot-node-pool.md`@31e1f80a, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let capacity = &pool.settings.capacity;
        let fixed = pool.nodes.get().filter(|nodes| nodes.is_fixed());
        if let (Capacity::Spot(_), Some(nodes)) = (&capacity.value, fixed) {
            let message = format!(
                "evicted spot machines of pool `{}` are not replaced",
                pool.name
            );
            report
                .diagnostic(&RULE.code, nodes.max_span, message)
                .label(capacity.span, "Azure can evict these machines")
                .help(format!(
                    "write `nodes: {{min: 0, max: {}}}`, so that the autoscaler replaces them",
                    nodes.max
                ))
                .emit();
        }
    }
}
