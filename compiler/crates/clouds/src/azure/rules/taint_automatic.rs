//! Taint that AKS sets automatically.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2735",
        name: "aks-taint-automatic",
        severity: Severity::Warning,
        summary: "AKS sets this taint automatically",
        checks: "Whether a spot pool has `kubernetes.azure.com/scalesetpriority=spot:NoSchedule` among its `taints`.",
        reason: "AKS sets this taint on spot nodes automatically, and gpuc adds a toleration for it to its
pods. gpuc does not set the taint again.",
        remedy: "Remove the taint.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {min: 0, max: 2}
    capacity: {spot: {}}
    taints: [{key: kubernetes.azure.com/scalesetpriority, value: spot, effect: NoSchedule}]
"#,
        correction: Correction::Replace(
            "    taints: [{key: kubernetes.azure.com/scalesetpriority, value: spot, effect: NoSchedule}]
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let automatic = cluster.cloud.automatic_taints(pool);
        for taint in &pool.user_taints {
            let aks_taint = automatic.iter().find(|it| it.is_written_as(taint));
            let Some(aks_taint) = aks_taint else { continue };
            let message = format!(
                "AKS sets the taint `{}` on spot nodes automatically",
                aks_taint.key
            );
            report
                .diagnostic(&RULE.code, taint.span, message)
                .label(aks_taint.span, "because this is a spot pool")
                .help("remove the taint")
                .emit();
        }
    }
}
