//! Flux reads no repository by SSH without a Secret.

use gpuc_schema::config::Gitops;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Flux reads no repository by SSH without a Secret.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2085",
        name: "gitops-secret-missing",
        severity: Severity::Error,
        summary: "Flux reads no repository by SSH without a Secret",
        explain: "### What it checks

Whether `gitops.flux` has a `secret` where its `repository` is read by SSH.

### Why it matters

SSH has no public repositories: Flux needs a key and the host's own key, and refuses a repository
without them.

### What to do

Make a Secret with `identity` and `known_hosts` in Flux's namespace, for instance by
`flux create secret git`, and name it. A public repository is read by `https://`.
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
gitops: {flux: {repository: "ssh://git@git.example.com/acme/gitops.git", branch: main, path: clusters/demo}}
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
gitops: {flux: {repository: "ssh://git@git.example.com/acme/gitops.git", branch: main, path: clusters/demo, secret: deploy-key}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.written.gitops else {
        return;
    };
    let Gitops::Flux(flux) = &gitops.value else {
        return;
    };
    if flux.repository.starts_with("ssh://") && flux.secret.is_none() {
        let message = "Flux needs a Secret to read a repository by SSH";
        let draft = report.draft(&RULE.code, flux.repository.span, message);
        let help = "add `secret`, the name of a Secret with `identity` and `known_hosts`";
        draft.help(help).emit();
    }
}
