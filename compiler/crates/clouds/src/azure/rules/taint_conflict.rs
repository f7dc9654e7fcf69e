//! Taint with the key of one that AKS sets.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2736",
        name: "aks-taint-conflict",
        severity: Severity::Error,
        summary: "a taint has the key of one that AKS sets",
        checks: "Whether a spot pool has a taint with the key `kubernetes.azure.com/scalesetpriority` and another value or
effect than `spot:NoSchedule`.",
        reason: "AKS sets the taint `kubernetes.azure.com/scalesetpriority=spot:NoSchedule` on spot nodes in any case. Pods
that tolerate only the other value, such as the device plugin, would not run there.",
        remedy: "Remove the taint, or use another key.",
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
    taints: [{key: kubernetes.azure.com/scalesetpriority, value: low, effect: NoSchedule}]
"#,
        correction: Correction::Replace("kubernetes.azure.com/scalesetpriority", "example.com/priority"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let automatic = cluster.cloud.automatic_taints(pool);
        for taint in &pool.user_taints {
            let aks_taint = automatic.iter().find(|it| it.key == taint.key.value);
            let Some(aks_taint) = aks_taint.filter(|it| !it.is_written_as(taint)) else {
                continue;
            };
            let message = format!(
                "AKS sets the taint `{}={}:{}` on spot nodes",
                aks_taint.key,
                aks_taint.value,
                aks_taint.effect.as_str()
            );
            report
                .diagnostic(&RULE.code, taint.span, message)
                .label(aks_taint.span, "because this is a spot pool")
                .help("remove the taint, or use another key")
                .emit();
        }
    }
}
