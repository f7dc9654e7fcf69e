//! Maximum number of pods outside the range that AKS accepts.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2724",
        name: "aks-max-pods",
        severity: Severity::Error,
        summary: "`maxPods` is outside the range that AKS accepts",
        checks: "Whether `maxPods` is between 10 and 250.",
        reason: "AKS refuses other values.",
        remedy: "Write a number in that range, or remove `maxPods` to use the default of AKS.",
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
    maxPods: 400
"#,
        correction: Correction::Replace("maxPods: 400", "maxPods: 250"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/concepts-network-ip-address-planning.md`, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pods in cluster
        .pools
        .iter()
        .filter_map(|pool| pool.settings.max_pods)
    {
        let nearest = pods.value.clamp(10, 250);
        if nearest != pods.value {
            report
                .diagnostic(
                    &RULE.code,
                    pods.span,
                    format!("`maxPods: {pods}` is not supported on AKS"),
                )
                .help(format!(
                    "write {nearest}: AKS accepts 10 to 250 pods per node"
                ))
                .replace(pods.span, nearest.to_string())
                .emit();
        }
    }
}
