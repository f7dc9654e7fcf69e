//! Pool with several subnets.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2719",
        name: "aks-subnets-several",
        severity: Severity::Error,
        summary: "a pool has several subnets",
        checks: "Whether a pool sets at most one subnet.",
        reason: "All nodes of an AKS pool are in one subnet, which spans all zones.",
        remedy: "Keep one subnet, or create a pool for each.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, subnet: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/system}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    subnets:
      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/a
      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/b
"#,
        correction: Correction::Replace("      - /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Network/virtualNetworks/demo/subnets/b
", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if let [first, second, ..] = pool.settings.subnets.as_slice() {
            let message = format!("pool `{}` has more than one subnet", pool.name);
            report
                .diagnostic(&RULE.code, second.span, message)
                .label(first.span, "the first subnet")
                .help("keep one subnet, or create a pool for each")
                .emit();
        }
    }
}
