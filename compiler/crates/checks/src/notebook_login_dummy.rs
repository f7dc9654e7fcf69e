//! The notebooks accept a login under any name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Fragment;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::chart_values;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2145",
        name: "notebook-login-dummy",
        severity: Severity::Warning,
        summary: "the notebooks accept a login under any name",
        checks: "Whether the chart `jupyterhub` is configured with its dummy authenticator.",
        reason: "The dummy authenticator accepts any name, with any password or with one password that all users
share. Every user can read the files of every other user. It is meant for trials only.",
        remedy: "Choose another authenticator: `hub.config.JupyterHub.authenticator_class` in
`charts.jupyterhub.values`.",
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
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: dummy}}}}}}
"#,
        correction: Correction::Replace("authenticator_class: dummy", "authenticator_class: github"),
    },
    run,
};

/// The names of the dummy authenticator: its entry point and its classes.
///
/// Source: <https://jupyterhub.readthedocs.io/en/stable/reference/authenticators.html>, read 2026-11-21.
const DUMMY_AUTHENTICATORS: &[&str] = &[
    "dummy",
    "jupyterhub.auth.DummyAuthenticator",
    "dummyauthenticator.DummyAuthenticator",
];

fn run(cluster: &Cluster, report: &mut Report) {
    let (Some(notebooks), Some(values)) = (
        &cluster.config.notebooks,
        chart_values(cluster, "jupyterhub"),
    ) else {
        return;
    };
    let key = ["hub", "config", "JupyterHub", "authenticator_class"];
    let Some(class) = values.get_path(&key) else {
        return;
    };
    if matches!(&class.value, Fragment::Text(name) if DUMMY_AUTHENTICATORS.contains(&name.as_str()))
    {
        let message = "the dummy authenticator accepts a login under any name";
        let help = "write another authenticator, such as `github` or `generic-oauth`";
        report
            .diagnostic(&RULE.code, class.span, message)
            .label(notebooks.span, "the notebooks that it protects")
            .help(help)
            .emit();
    }
}
