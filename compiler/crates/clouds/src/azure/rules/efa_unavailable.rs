//! EFA on AKS.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2722",
        name: "aks-efa-unavailable",
        severity: Severity::Error,
        summary: "AKS does not support EFA",
        checks: "Whether a pool has `network.efa`.",
        reason: "EFA is a network interface of AWS. On AKS the setting has no effect and misleads its readers.",
        remedy: "Remove it. For sizes with InfiniBand, such as `Standard_ND96isr_H100_v5`, write `rdma: {infiniband: {}}`.",
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
    network: {efa: {}}
"#,
        correction: Correction::Replace(
            "    network: {efa: {}}
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for efa in cluster
        .pools
        .iter()
        .filter_map(|pool| pool.settings.network.efa.as_ref())
    {
        report
            .diagnostic(
                &RULE.code,
                efa.span,
                "`efa` is not supported on AKS: EFA is specific to AWS",
            )
            .help("remove `efa`; sizes with InfiniBand have `rdma: {infiniband: {}}` instead")
            .emit();
    }
}
