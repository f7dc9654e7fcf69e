//! `chartSecret` is for a mirror of charts that there is not.

use gpuc_schema::config::Gitops;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// `chartSecret` is for a mirror of charts that there is not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2095",
        name: "gitops-chart-secret-unused",
        severity: Severity::Error,
        summary: "`chartSecret` is for a mirror of charts that there is not",
        explain: "### What it checks

Whether `mirror.charts` is there where `gitops.flux` has a `chartSecret`.

### Why it matters

Without a mirror the charts come from those who publish them, each from a registry of its own where
everybody may pull them. The Secret of another registry is of no use there, and Flux stops when it
is not in the cluster.

### What to do

Write the registry that the Secret is for as `mirror.charts`, or leave out `chartSecret`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, chartSecret: mirror}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, chartSecret: mirror}}
mirror: {charts: "oci://registry.example.com/charts"}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(Gitops::Flux(flux)) = cluster.written.gitops.as_ref().map(|it| &it.value) else {
        return;
    };
    let Some(secret) = &flux.chart_secret else {
        return;
    };
    if cluster.written.mirror.charts.is_none() {
        let message = "no chart is pulled with this Secret: there is no mirror of charts";
        let draft = report.draft(&RULE.code, secret.span, message);
        let help = "add `mirror: {charts: oci://…}`, or leave out `chartSecret`";
        draft.help(help).emit();
    }
}
