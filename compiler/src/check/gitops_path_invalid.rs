//! The path of `gitops` leads out of the repository.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The path of `gitops` leads out of the repository.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2081",
        name: "gitops-path-invalid",
        severity: Severity::Error,
        summary: "the path of `gitops` leads out of the repository",
        explain: "### What it checks

Whether `path` is a folder inside the repository: relative to its root, without `..`, with `/`
between folders; `.` for the root itself.

### Why it matters

It becomes a part of the path of everything that Flux or Argo CD brings, and both refuse to leave
the repository; that is seen only in the cluster.

### What to do

Write the cluster's folder as seen from the repository's root: `clusters/ml-prod`.
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: ../clusters/demo}}
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/demo}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.written.gitops else {
        return;
    };
    let path = gitops.path();
    let Some(problem) = problem(path) else {
        return;
    };
    let draft = report.draft(&RULE.code, path.span, problem);
    let help = "write the cluster's folder as seen from the root of the repository, as `clusters/ml-prod`; `.` is \
                the root itself";
    draft.help(help).emit();
}

/// What is wrong with a path; `None` when nothing is.
pub(super) fn problem(path: &str) -> Option<String> {
    let is_odd =
        |c: char| c.is_whitespace() || matches!(c, '\\' | '$' | '*' | '?' | '[' | '"' | '\'');
    if path.is_empty() {
        Some("the path is empty".to_owned())
    } else if path.starts_with(['/', '~']) {
        Some(format!(
            "`{path}` is not relative to the root of the repository"
        ))
    } else if path.split('/').any(|part| part == "..") {
        Some(format!("`{path}` may lead out of the repository"))
    } else {
        let odd = path.chars().find(|c| is_odd(*c))?;
        Some(format!("a path of a repository cannot have `{odd}` here"))
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn paths_stay_in_the_repository() {
        for path in [
            ".",
            "./",
            "clusters/ml-prod",
            "./a/b/",
            "a..b",
            "_x/y.z",
            "é",
        ] {
            assert_eq!(problem(path), None, "{path}");
        }
        for path in [
            "", "/", "/a", "..", "../a", "a/../b", "a/..", "~/a", "a\\b", "a b", "${a}", "a*",
        ] {
            assert!(problem(path).is_some(), "{path}");
        }
    }
}
