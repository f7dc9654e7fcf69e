//! The path in `gitops` does not end with the name of the cluster.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::gitops_path_invalid;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2084",
        name: "gitops-path-mismatch",
        severity: Severity::Warning,
        summary: "the path in `gitops` does not end with the name of the cluster",
        checks: "Whether the last directory of `path` has the name of the cluster. The root of a repository, `.`, has
no name, and passes.",
        reason: "`gpuc build` writes the tree to a directory with the name of the cluster. Flux or Argo CD would read
another directory. If several clusters inherit `gitops` from one base, all of them would read the
same one.",
        remedy: "End the path with the name of the cluster; with a base, give each cluster its own path. If the tree
is moved after it is built, write `allow: [gitops-path-mismatch]`.",
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/production}}
"#,
        correction: Correction::Replace("clusters/production", "clusters/demo"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let path = gitops.path();
    if gitops_path_invalid::path_problem(path).is_some() {
        return;
    }
    let mut parts: Vec<_> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let name = cluster.name.value.as_str();
    let Some(last) = parts.pop().filter(|last| *last != name) else {
        return;
    };
    parts.push(name);
    let message = format!("the path ends with `{last}`, but the tree is written to `{name}`");
    report
        .diagnostic(&RULE.code, path.span, message)
        .label(
            cluster.name.span,
            "the directory has the name of the cluster",
        )
        .help(format!("write `{}`", parts.join("/")))
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_the_last_directory_counts() {
        let found = |path: &str| {
            let rest = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
            ";
            let gitops = format!("gitops: {{argocd: {{repository: r, branch: b, path: {path}}}}}");
            messages_with_id(&format!("{rest}{gitops}"), "GPUC2084").len()
        };
        for path in [".", "./", "demo", "a/demo/", "./a//demo/."] {
            assert_eq!(found(path), 0, "{path}");
        }
        for path in ["a", "demo/a", "a/Demo"] {
            assert_eq!(found(path), 1, "{path}");
        }
    }
}
