//! `monitoring` is set, but no pool has GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2072",
        name: "monitoring-without-gpus",
        severity: Severity::Warning,
        summary: "`monitoring` is set, but no pool has GPUs",
        checks: "Whether a pool has GPUs if the file has `monitoring`.",
        reason: "gpuc generates monitoring of GPUs only: without GPUs there are no exporters and no alerts for them.",
        remedy: "Add a pool with GPUs, or remove `monitoring`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
monitoring:
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: cpu
    machine: m7i.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "monitoring:
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: cpu
    machine: m7i.xlarge",
            r#"stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    machine: g6.xlarge"#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.config.monitoring else {
        return;
    };
    let mut pools = cluster.pools.iter();
    if pools.any(|pool| pool.has_gpus() || pool.gpus.is_unresolved()) {
        return;
    }
    let message = "`monitoring` is set, but no pool has GPUs";
    report
        .diagnostic(&RULE.code, monitoring.span, message)
        .help("add a pool with GPUs, or remove `monitoring`")
        .emit();
}
