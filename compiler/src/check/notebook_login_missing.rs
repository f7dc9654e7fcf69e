//! Nothing says how people log in to their notebooks.

use gpuc_schema::config::Fragment;

use super::Rule;
use super::places::chart_values;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nothing says how people log in to their notebooks.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2144",
        name: "notebook-login-missing",
        severity: Severity::Error,
        summary: "nothing says how people log in to their notebooks",
        explain: "### What it checks

Whether the values of the chart `jupyterhub` choose an authenticator.

### Why it matters

By default the chart lets anybody in, under any name and with any password. Whoever reaches the hub
would have everybody's files, and the GPUs.

### What to do

Write `hub.config.JupyterHub.authenticator_class` below `charts.jupyterhub.values`, and what that
authenticator needs beside it: `github`, `google`, `azuread`, `generic-oauth`, `ldapauthenticator.LDAPAuthenticator`.
Keep secrets out of the file: `hub.extraEnv` can take `OAUTH_CLIENT_SECRET` from a Secret.
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

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(notebooks) = &cluster.written.notebooks else {
        return;
    };
    if chart_values(cluster, "jupyterhub").is_some_and(chooses) {
        return;
    }
    let message = "anybody could log in under any name: the chart's default asks for nothing";
    let mut draft = report.draft(&RULE.code, notebooks.span, message);
    if let Some(settings) = &cluster.written.charts.jupyterhub {
        draft = draft.label(settings.span, "this chooses no authenticator");
    }
    let help = "write `charts: {jupyterhub: {values: {hub: {config: {JupyterHub: \
                {authenticator_class: github}}}}}}`, and what that authenticator needs";
    draft.help(help).emit();
}

/// Whether values choose an authenticator, in the configuration or in Python.
fn chooses(values: &Fragment) -> bool {
    let key = ["hub", "config", "JupyterHub", "authenticator_class"];
    let mut is_in_python = false;
    if let Some(python) = values.at(&["hub", "extraConfig"]) {
        let mut look = |text: &str, _| is_in_python |= text.contains("authenticator_class");
        python.value.texts(&mut look, python.span);
    }
    values.at(&key).is_some() || is_in_python
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(values: &str, is_missing: bool) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: cpu, hosts: [a], nodes: {{count: 1}}}}]
            notebooks: {{jupyterHub: {{profiles: [{{name: a, cpu: 1}}]}}}}
            charts: {{jupyterhub: {{values: {values}}}}}
            "
        );
        let found = messages(&yaml, "GPUC2144");
        assert_eq!(!found.is_empty(), is_missing, "{values}");
    }

    #[test]
    fn an_authenticator_is_chosen_in_either_way() {
        check("{}", true);
        check("{hub: {config: {JupyterHub: {admin_access: false}}}}", true);
        check(
            "{hub: {config: {JupyterHub: {authenticator_class: null}}}}",
            true,
        );
        check(
            "{hub: {config: {JupyterHub: {authenticator_class: github}}}}",
            false,
        );
        check(
            "{hub: {extraConfig: {login: 'c.JupyterHub.authenticator_class = Ours'}}}",
            false,
        );
    }
}
