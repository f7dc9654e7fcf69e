//! Flux requires a Secret for a repository over SSH.

use gpuc_schema::config::Gitops;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2085",
        name: "gitops-secret-missing",
        severity: Severity::Error,
        summary: "Flux requires a Secret for a repository over SSH",
        checks: "Whether `gitops.flux` has a `secret` if its `repository` uses SSH.",
        reason: "SSH has no anonymous access: Flux needs a private key and the host's public key, and rejects a
repository without them.",
        remedy: "Create a Secret with `identity` and `known_hosts` in the namespace of Flux, for example with `flux
create secret git`, and set `secret` to its name. For a public repository, use `https://`.",
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
gitops: {flux: {repository: "ssh://git@git.example.com/acme/gitops.git", branch: main, path: clusters/demo}}
"#,
        correction: Correction::Replace("clusters/demo", "clusters/demo, secret: deploy-key"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let Gitops::Flux(flux) = &gitops.value else {
        return;
    };
    if flux.repository.starts_with("ssh://") && flux.secret.is_none() {
        let message = "Flux requires a Secret for a repository over SSH";
        let help = "set `secret` to the name of a Secret with `identity` and `known_hosts`";
        report
            .diagnostic(&RULE.code, flux.repository.span, message)
            .help(help)
            .emit();
    }
}
