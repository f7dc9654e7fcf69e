//! GPUs are to be watched, and no pool has any.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// GPUs are to be watched, and no pool has any.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2072",
        name: "monitoring-without-gpus",
        severity: Severity::Warning,
        summary: "GPUs are to be watched, and no pool has any",
        explain: "### What it checks

Whether some pool has GPUs where the file has `monitoring`.

### Why it matters

What gpuc writes for it watches GPUs: without any there are no exporters and no alerts about them.

### What to do

Add a pool with GPUs, or remove `monitoring`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
monitoring:
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: cpu
    machine: m7i.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.written.monitoring else {
        return;
    };
    let mut pools = cluster.pools.iter();
    if pools.any(|pool| pool.has_gpus() || pool.gpus.is_hole()) {
        return;
    }
    let message = "no pool has GPUs to be watched";
    let draft = report.draft(&RULE.code, monitoring.span, message);
    draft
        .help("add a pool with GPUs, or remove `monitoring`")
        .emit();
}
