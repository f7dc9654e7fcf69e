//! gpuc-runtime is to measure GPUs of a pool that it does not serve.

use gpuc_schema::config::{DevicePlugin, Exporter};

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// gpuc-runtime is to measure GPUs of a pool that it does not serve.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2070",
        name: "exporter-without-runtime",
        severity: Severity::Error,
        summary: "gpuc-runtime is to measure GPUs of a pool that it does not serve",
        explain: "### What it checks

Whether every pool with GPUs has `devicePlugin: gpuc` where `monitoring.exporter` is `gpuc`.

### Why it matters

gpuc-runtime measures the GPUs of the nodes that it runs on, and runs where it advertises them. The
GPUs of another pool would be measured by nobody, and its alerts would never fire.

### What to do

Write `exporter: dcgm`, which runs beside any plugin, or `devicePlugin: gpuc` for the pool.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
monitoring:
  exporter: gpuc
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
monitoring:
  exporter: dcgm
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
    let exporter = &monitoring.exporter;
    if exporter.value != Exporter::Gpuc {
        return;
    }
    let mut others = cluster
        .gpu_pools()
        .map(|(pool, _)| pool)
        .filter(|pool| pool.plugin.value != DevicePlugin::Gpuc);
    let Some(pool) = others.next() else {
        return;
    };
    let message = format!("gpuc-runtime does not run on pool `{}`", pool.name);
    let draft = report.draft(&RULE.code, exporter.span, message);
    let plugin = format!("`{}` advertises its GPUs", word(&pool.plugin));
    let place = if pool.plugin.span.is_written() {
        pool.plugin.span
    } else {
        pool.name.span
    };
    draft
        .label(place, plugin)
        .help("write `exporter: dcgm`, or `devicePlugin: gpuc` for the pool")
        .emit();
}
