//! Dashboards are wanted of a Prometheus that comes without Grafana.

use gpuc_schema::config::Prometheus;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Dashboards are wanted of a Prometheus that comes without Grafana.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2071",
        name: "dashboards-without-grafana",
        severity: Severity::Error,
        summary: "dashboards are wanted, and no Grafana is there to show them",
        explain: "### What it checks

Whether `prometheus.install` has `grafana` where `dashboards` is `true`.

### Why it matters

Dashboards are ConfigMaps that Grafana picks up. gpuc does not install Grafana without a Secret for
its administrator: its chart would make up a password, another one at each rendering.

### What to do

Make a Secret in the namespace `monitoring` with the keys `admin-user` and `admin-password`, and name
it: `grafana: {adminSecret: NAME}`. Or leave `dashboards` out.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  dashboards: true
  prometheus: {install: {}}
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
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  dashboards: true
  prometheus: {install: {grafana: {adminSecret: grafana-admin}}}
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
    let Prometheus::Install(install) = &monitoring.prometheus.value else {
        return;
    };
    if !monitoring.dashboards.value || install.grafana.is_some() {
        return;
    }
    let message = "no Grafana is there to show the dashboards";
    let draft = report.draft(&RULE.code, monitoring.dashboards.span, message);
    let here = "Grafana is installed only with a Secret for its administrator";
    draft
        .label(monitoring.prometheus.span, here)
        .help("add `grafana: {adminSecret: NAME}` to `install`, or remove `dashboards`")
        .emit();
}
