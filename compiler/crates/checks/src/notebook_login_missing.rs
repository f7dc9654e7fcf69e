//! No authenticator is configured for the notebooks.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Fragment;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::chart_values;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2144",
        name: "notebook-login-missing",
        severity: Severity::Error,
        summary: "no authenticator is configured for the notebooks",
        checks: "Whether the values of the chart `jupyterhub` choose an authenticator.",
        reason: "By default the chart accepts any name with any password. Anyone who can reach the hub can read the
files of all users, and use the GPUs.",
        remedy: "Set `hub.config.JupyterHub.authenticator_class` below `charts.jupyterhub.values`, and the settings
that the authenticator needs: `github`, `google`, `azuread`, `generic-oauth`,
`ldapauthenticator.LDAPAuthenticator`. Keep secrets out of the file: `hub.extraEnv` can read
`OAUTH_CLIENT_SECRET` from a Secret.",
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
"#,
        correction: Correction::Replace("gpus: 1}
", "gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(notebooks) = &cluster.config.notebooks else {
        return;
    };
    if chart_values(cluster, "jupyterhub").is_some_and(chooses_authenticator) {
        return;
    }
    let message =
        "no authenticator is configured: the chart's default accepts any name and any password";
    let mut builder = report.diagnostic(&RULE.code, notebooks.span, message);
    if let Some(settings) = &cluster.config.charts.jupyterhub {
        builder = builder.label(settings.span, "these values do not choose an authenticator");
    }
    let help = "write `charts: {jupyterhub: {values: {hub: {config: {JupyterHub: \
                {authenticator_class: github}}}}}}`, and the settings of that authenticator";
    builder.help(help).emit();
}

/// Whether the values choose an authenticator, through `hub.config` or in Python code.
fn chooses_authenticator(values: &Fragment) -> bool {
    let key = ["hub", "config", "JupyterHub", "authenticator_class"];
    let mut is_in_python = false;
    if let Some(python) = values.get_path(&["hub", "extraConfig"]) {
        let mut visit = |text: &str, _| is_in_python |= text.contains("authenticator_class");
        python.value.visit_strings(&mut visit, python.span);
    }
    values.get_path(&key).is_some() || is_in_python
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        let found = messages_with_id(&yaml, "GPUC2144");
        assert_eq!(!found.is_empty(), is_missing, "{values}");
    }

    #[test]
    fn authenticator_in_config_or_python_is_found() {
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
