//! A name in `gitops` is invalid.

use gpuc_schema::Spanned;
use gpuc_schema::config::Gitops;

use gpuc_kubernetes::names::{is_dns_label, is_dns_subdomain};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2083",
        name: "gitops-name-invalid",
        severity: Severity::Error,
        summary: "a name in `gitops` is invalid",
        checks: "Whether `namespace` is a DNS label, `secret` and `chartSecret` are DNS names, and `cluster` is not
empty.",
        reason: "The objects that deploy the tree are created in this namespace, and reference this Secret and this
cluster. The API server rejects other names.",
        remedy: "Write the name as `kubectl get namespaces`, `kubectl get secrets` or `argocd cluster list` prints
it.",
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, namespace: Flux}}
"#,
        correction: Correction::Replace("namespace: Flux", "namespace: flux"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let mut reject = |name: &Spanned<String>, kind: &str, help: &str| {
        let message = format!("invalid {kind} name `{}`", name.value);
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    };
    let namespace = gitops.namespace();
    if !is_dns_label(namespace) {
        let help = "use lower-case letters, digits and -; at most 63 characters";
        reject(namespace, "namespace", help);
    }
    match &gitops.value {
        Gitops::Flux(flux) => {
            let secrets = [&flux.secret, &flux.chart_secret];
            let help = "use lower-case letters, digits, - and .; at most 253 characters";
            for secret in secrets.into_iter().flatten() {
                if !is_dns_subdomain(secret) {
                    reject(secret, "Secret", help);
                }
            }
        }
        Gitops::Argocd(argocd) => {
            let cluster = argocd.cluster.as_ref().filter(|it| it.trim().is_empty());
            if let Some(name) = cluster {
                let help = "write the name as `argocd cluster list` prints it, or remove `cluster`";
                reject(name, "cluster", help);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    const REST: &str = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
            ";

    #[test]
    fn every_name_is_checked() {
        let flux = "gitops: {flux: {repository: r, branch: b, path: p, namespace: a.b, secret: A, \
                    chartSecret: b_}}";
        let found = messages_with_id(&format!("{REST}{flux}"), "GPUC2083");
        assert_eq!(
            found,
            [
                "invalid namespace name `a.b`",
                "invalid Secret name `A`",
                "invalid Secret name `b_`"
            ]
        );
        let argocd = "gitops: {argocd: {repository: r, branch: b, path: p, cluster: ' '}}";
        let found = messages_with_id(&format!("{REST}{argocd}"), "GPUC2083");
        assert_eq!(found, ["invalid cluster name ` `"]);
    }
}
