//! `chartSecret` is set, but charts have no mirror.

use gpuc_schema::config::Gitops;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2095",
        name: "gitops-chart-secret-unused",
        severity: Severity::Error,
        summary: "`chartSecret` is set, but charts have no mirror",
        checks: "Whether `mirror.charts` is set if `gitops.flux` has a `chartSecret`.",
        reason: "Without a mirror, each chart comes from the public registry of its publisher. The Secret of another
registry has no use there, and Flux fails if the Secret does not exist in the cluster.",
        remedy: "Write the registry that the Secret is for as `mirror.charts`, or remove `chartSecret`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, chartSecret: mirror}}
"#,
        correction: Correction::Replace("mirror}}
", r#"mirror}}
mirror: {charts: "oci://registry.example.com/charts"}
"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(Gitops::Flux(flux)) = cluster.config.gitops.as_ref().map(|it| &it.value) else {
        return;
    };
    let Some(secret) = &flux.chart_secret else {
        return;
    };
    if cluster.config.mirror.charts.is_none() {
        let message = "`chartSecret` has no effect: `mirror.charts` is not set";
        let help = "add `mirror: {charts: oci://…}`, or remove `chartSecret`";
        report
            .diagnostic(&RULE.code, secret.span, message)
            .help(help)
            .emit();
    }
}
