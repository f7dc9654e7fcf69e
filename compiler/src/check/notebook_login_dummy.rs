//! Anybody can log in to the notebooks under any name.

use gpuc_schema::config::Fragment;

use super::Rule;
use super::places::chart_values;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Anybody can log in to the notebooks under any name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2145",
        name: "notebook-login-dummy",
        severity: Severity::Warning,
        summary: "anybody can log in to the notebooks under any name",
        explain: "### What it checks

Whether the authenticator of the chart `jupyterhub` is the dummy one.

### Why it matters

It takes any name, with any password or with one that all have in common: everybody can have
everybody's files. It is for trying out.

### What to do

Choose another: `hub.config.JupyterHub.authenticator_class` in `charts.jupyterhub.values`.
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
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: dummy}}}}}}
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
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

/// What the dummy authenticator is called: its entry point and its classes.
///
/// Source: <https://jupyterhub.readthedocs.io/en/stable/reference/authenticators.html>, read 2026-11-21.
const DUMMY: &[&str] = &[
    "dummy",
    "jupyterhub.auth.DummyAuthenticator",
    "dummyauthenticator.DummyAuthenticator",
];

fn run(cluster: &Cluster, report: &mut Report) {
    let (Some(notebooks), Some(values)) = (
        &cluster.written.notebooks,
        chart_values(cluster, "jupyterhub"),
    ) else {
        return;
    };
    let chosen = values.at(&["hub", "config", "JupyterHub", "authenticator_class"]);
    let Some(chosen) = chosen else {
        return;
    };
    if matches!(&chosen.value, Fragment::Text(name) if DUMMY.contains(&name.as_str())) {
        let message = "anybody can log in under any name";
        let draft = report.draft(&RULE.code, chosen.span, message);
        let draft = draft.label(notebooks.span, "to these notebooks");
        let help = "write another authenticator, such as `github` or `generic-oauth`";
        draft.help(help).emit();
    }
}
