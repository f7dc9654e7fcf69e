//! A name in `gitops` is none that Kubernetes or the tool can have.

use gpuc_schema::Spanned;
use gpuc_schema::config::Gitops;

use super::Rule;
use super::syntax::{is_dns_label, is_dns_subdomain};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A name in `gitops` is none that Kubernetes or the tool can have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2083",
        name: "gitops-name-invalid",
        severity: Severity::Error,
        summary: "a name in `gitops` is none that Kubernetes or the tool can have",
        explain: "### What it checks

Whether `namespace` is a DNS label, `secret` and `chartSecret` are DNS names, and `cluster` is not
empty.

### Why it matters

The objects that bring the tree are made in that namespace and name that Secret and that cluster.
Kubernetes refuses other names.

### What to do

Write the name as `kubectl get namespaces`, `kubectl get secrets` or `argocd cluster list` prints
it.
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, namespace: Flux}}
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo, namespace: flux}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.written.gitops else {
        return;
    };
    let mut find = |name: &Spanned<String>, what: &str, help: &str| {
        let message = format!("no {what} can be called `{}`", name.value);
        let draft = report.draft(&RULE.code, name.span, message);
        draft.help(help).emit();
    };
    let namespace = gitops.namespace();
    if !is_dns_label(namespace) {
        let help = "use lower-case letters, digits and -; at most 63 characters";
        find(namespace, "namespace", help);
    }
    match &gitops.value {
        Gitops::Flux(flux) => {
            let secrets = [&flux.secret, &flux.chart_secret];
            let help = "use lower-case letters, digits, - and .; at most 253 characters";
            for secret in secrets.into_iter().flatten() {
                if !is_dns_subdomain(secret) {
                    find(secret, "Secret", help);
                }
            }
        }
        Gitops::Argocd(argocd) => {
            let cluster = argocd.cluster.as_ref().filter(|it| it.trim().is_empty());
            if let Some(name) = cluster {
                let help =
                    "write its name as `argocd cluster list` prints it, or leave `cluster` out";
                find(name, "cluster", help);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    const REST: &str = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
            ";

    #[test]
    fn every_name_is_looked_at() {
        let flux = "gitops: {flux: {repository: r, branch: b, path: p, namespace: a.b, secret: A, \
                    chartSecret: b_}}";
        let found = messages(&format!("{REST}{flux}"), "GPUC2083");
        assert_eq!(
            found,
            [
                "no namespace can be called `a.b`",
                "no Secret can be called `A`",
                "no Secret can be called `b_`"
            ]
        );
        let argocd = "gitops: {argocd: {repository: r, branch: b, path: p, cluster: ' '}}";
        let found = messages(&format!("{REST}{argocd}"), "GPUC2083");
        assert_eq!(found, ["no cluster can be called ` `"]);
    }
}
