//! Dashboards are enabled, but Grafana is not installed.

use gpuc_schema::config::Prometheus;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2071",
        name: "dashboards-without-grafana",
        severity: Severity::Error,
        summary: "dashboards are enabled, but Grafana is not installed",
        checks: "Whether `prometheus.install` has `grafana` if `dashboards` is `true`.",
        reason: "Dashboards are ConfigMaps that Grafana loads. gpuc installs Grafana only with a Secret for its
administrator: without one, the chart would generate a new password at each rendering.",
        remedy: "Create a Secret in the namespace `monitoring` with the keys `admin-user` and `admin-password`, and
set `grafana: {adminSecret: NAME}`. Or remove `dashboards`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("install: {", "install: {grafana: {adminSecret: grafana-admin}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.config.monitoring else {
        return;
    };
    let Prometheus::Install(install) = &monitoring.prometheus.value else {
        return;
    };
    if !monitoring.dashboards.value || install.grafana.is_some() {
        return;
    }
    let message = "dashboards are enabled, but Grafana is not installed";
    let label = "Grafana is installed only with a Secret for its administrator";
    report
        .diagnostic(&RULE.code, monitoring.dashboards.span, message)
        .label(monitoring.prometheus.span, label)
        .help("add `grafana: {adminSecret: NAME}` to `install`, or remove `dashboards`")
        .emit();
}
