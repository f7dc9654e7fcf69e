//! Label of GKE that gpuc derives from `stack.devicePlugin`.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::NO_DEFAULT_PLUGIN;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2612",
        name: "gke-plugin-label",
        severity: Severity::Error,
        summary: "a label that gpuc derives from `stack.devicePlugin` is set by hand",
        checks: r"Whether the `labels` of a pool contain `gke-no-default-nvidia-gpu-device-plugin`.",
        reason: r"The label disables GKE's device plugin on a node. Set by hand, it can contradict `stack.devicePlugin`: then
two device plugins advertise the same GPUs, or none does.",
        remedy: r"Remove the label. gpuc sets it unless `stack.devicePlugin` is `cloud`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    labels: {gke-no-default-nvidia-gpu-device-plugin: "true"}
"#,
        correction: Correction::Replace(
            r#"    labels: {gke-no-default-nvidia-gpu-device-plugin: "true"}
"#,
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let mut keys = pool.user_labels.keys();
        let Some(key) = keys.find(|key| key.value == NO_DEFAULT_PLUGIN) else {
            continue;
        };
        report
            .diagnostic(
                &RULE.code,
                key.span,
                format!("the label `{key}` must not be set by hand"),
            )
            .label(pool.plugin.span, "gpuc derives the label from this setting")
            .help("remove the label, and choose the device plugin with `stack.devicePlugin`")
            .emit();
    }
}
