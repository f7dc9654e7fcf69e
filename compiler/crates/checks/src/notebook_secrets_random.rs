//! Argo CD regenerates the notebooks' secrets at each sync.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Fragment, Gitops};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::queries::chart_values;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2146",
        name: "notebook-secrets-random",
        severity: Severity::Error,
        summary: "Argo CD regenerates the notebooks' secrets at each sync",
        checks: "Whether the values of the chart `jupyterhub` set the chart's three secrets, and the `apiToken` of
each entry in `hub.services`, if Argo CD installs the chart. An empty value counts as unset.",
        reason: "The chart generates the secrets that are not in its values, and keeps them by reading the existing
Secret from the cluster. Argo CD renders charts without access to the cluster. Each sync generates
new secrets: the hub restarts, the proxy rejects it, and all users are logged out.",
        remedy: "Set all three in `charts.jupyterhub.values`, each from `openssl rand -hex 32`, and restrict read
access to the repository. With `secret`, the entries `hub.config.JupyterHub.cookie_secret` and
`hub.config.CryptKeeper.keys` of that Secret take precedence over the values. Those values may then
be any but must not change. The proxy's token and the tokens of services always come from the
values. Flux and `install.sh` need none of this.",
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
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
gitops: {argocd: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo}}
"#,
        correction: Correction::Replace(" {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}", r#"
  jupyterhub:
    values:
      hub:
        config: {JupyterHub: {authenticator_class: github}, CryptKeeper: {keys: ["0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"]}}
        cookieSecret: "1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e"
      proxy: {secretToken: "2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d""#),
    },
    run,
};

/// The values that hold the secrets, each with its alternative path.
///
/// Source: jupyterhub/zero-to-jupyterhub-k8s@4.4.0 jupyterhub/values.schema.yaml, `hub.existingSecret`,
/// `hub.cookieSecret`, `proxy.secretToken`, `hub.services`, and jupyterhub/templates/hub/secret.yaml and
/// `_helpers-passwords.tpl`, which generate a secret if the value is empty.
const SECRETS: &[(&str, &str)] = &[
    (
        "proxy.secretToken",
        "hub.config.ConfigurableHTTPProxy.auth_token",
    ),
    ("hub.cookieSecret", "hub.config.JupyterHub.cookie_secret"),
    ("hub.config.CryptKeeper.keys", "hub.config.CryptKeeper.keys"),
];

fn run(cluster: &Cluster, report: &mut Report) {
    let (Some(notebooks), Some(gitops)) = (&cluster.config.notebooks, &cluster.config.gitops)
    else {
        return;
    };
    if !matches!(gitops.value, Gitops::Argocd(_)) {
        return;
    }
    let values = chart_values(cluster, "jupyterhub");
    let is_set = |path: &str| {
        let parts: Vec<_> = path.split('.').collect();
        let value = values.and_then(|values| values.get_path(&parts));
        value.is_some_and(|value| is_filled(value))
    };
    let unset = SECRETS
        .iter()
        .filter(|(path, alternative)| !is_set(path) && !is_set(alternative))
        .map(|(path, _)| (*path).to_owned());
    let missing: Vec<_> = unset
        .chain(values.into_iter().flat_map(missing_tokens))
        .collect();
    if missing.is_empty() {
        return;
    }
    let message = "the chart `jupyterhub` generates new secrets at each sync";
    let builder = report.diagnostic(&RULE.code, notebooks.span, message);
    let builder = builder.label(
        gitops.span,
        "Argo CD renders charts without access to the cluster",
    );
    let missing: Vec<_> = missing.iter().map(String::as_str).collect();
    let all = phrases::quoted_conjunction(&missing, "and");
    let help = format!("set {all} in `charts.jupyterhub.values`, each from `openssl rand -hex 32`");
    builder.help(help).emit();
}

/// Whether the chart's templates treat the value as set: they do not distinguish empty from absent.
fn is_filled(value: &Fragment) -> bool {
    match value {
        Fragment::Null => false,
        Fragment::Text(text) => !text.is_empty(),
        Fragment::List(items) => items.iter().any(|item| is_filled(item)),
        _ => true,
    }
}

/// The paths of the API tokens that services lack.
fn missing_tokens(values: &Fragment) -> Vec<String> {
    let services = values.get_path(&["hub", "services"]).map(|it| &it.value);
    let Some(Fragment::Map(services)) = services else {
        return Vec::new();
    };
    let has_token =
        |service: &Fragment, key| service.get_path(&[key]).is_some_and(|it| is_filled(it));
    // Helm removes an entry that is `null`.
    let services = services
        .iter()
        .filter(|(_, service)| **service != Fragment::Null);
    services
        .filter(|(_, service)| !has_token(service, "apiToken") && !has_token(service, "api_token"))
        .map(|(name, _)| format!("hub.services.{name}.apiToken"))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(values: &str, gitops: &str, is_random: bool) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: cpu, hosts: [a], nodes: {{count: 1}}}}]
            notebooks: {{jupyterHub: {{profiles: [{{name: a, cpu: 1}}], secret: hub}}}}
            charts: {{jupyterhub: {{values: {values}}}}}
            gitops: {{{gitops}: {{repository: 'https://a.example.com/b.git', branch: main, path: c}}}}
            "
        );
        let found = messages_with_id(&yaml, "GPUC2146");
        assert_eq!(!found.is_empty(), is_random, "{values}: {gitops}");
    }

    #[test]
    fn argo_cd_needs_all_three_secrets() {
        let two = "hub: {cookieSecret: a, config: {CryptKeeper: {keys: [b]}}}";
        check("{}", "argocd", true);
        check("{}", "flux", false);
        check(&format!("{{{two}}}"), "argocd", true);
        check(
            &format!("{{{two}, proxy: {{secretToken: c}}}}"),
            "argocd",
            false,
        );
        let alternative = "{hub: {config: {CryptKeeper: {keys: [b]}, JupyterHub: {cookie_secret: a}, \
                     ConfigurableHTTPProxy: {auth_token: c}}}}";
        check(alternative, "argocd", false);
        let all = |services: &str, token: &str| {
            format!(
                "{{hub: {{cookieSecret: a, config: {{CryptKeeper: {{keys: [b]}}}}, services: {services}}}, \
                 proxy: {{secretToken: {token}}}}}"
            )
        };
        check(&all("{}", "c"), "argocd", false);
        check(&all("{}", "''"), "argocd", true);
        check(&all("{grafana: {}}", "c"), "argocd", true);
        check(&all("{grafana: {}}", "c"), "flux", false);
        check(&all("{grafana: {apiToken: d}}", "c"), "argocd", false);
        check(&all("{grafana: {api_token: d}}", "c"), "argocd", false);
        check(&all("{grafana: null}", "c"), "argocd", false);
    }
}
