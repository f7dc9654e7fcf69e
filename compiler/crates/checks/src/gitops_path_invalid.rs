//! The path in `gitops` is not a directory inside the repository.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2081",
        name: "gitops-path-invalid",
        severity: Severity::Error,
        summary: "the path in `gitops` is not a directory inside the repository",
        checks: "Whether `path` is a directory inside the repository: relative to its root, without `..`, with `/`
between directories; `.` for the root itself.",
        reason: "The path is a part of every path that Flux or Argo CD deploys. Both reject paths outside the
repository, but only in the cluster.",
        remedy: "Write the directory of the cluster relative to the root of the repository: `clusters/ml-prod`.",
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: ../clusters/demo}}
"#,
        correction: Correction::Replace("../clusters/demo", "clusters/demo"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let path = gitops.path();
    let Some(problem) = path_problem(path) else {
        return;
    };
    let help = "write a path relative to the root of the repository, such as `clusters/ml-prod`, or `.` for the root";
    report
        .diagnostic(&RULE.code, path.span, problem)
        .help(help)
        .emit();
}

/// Validates a path; `None` if it is valid.
pub(super) fn path_problem(path: &str) -> Option<String> {
    let is_forbidden =
        |c: char| c.is_whitespace() || matches!(c, '\\' | '$' | '*' | '?' | '[' | '"' | '\'');
    if path.is_empty() {
        Some("the path is empty".to_owned())
    } else if path.starts_with(['/', '~']) {
        Some(format!(
            "`{path}` is not relative to the root of the repository"
        ))
    } else if path.split('/').any(|part| part == "..") {
        Some(format!("`{path}` must not contain `..`"))
    } else {
        let character = path.chars().find(|c| is_forbidden(*c))?;
        Some(format!("the path must not contain `{character}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::path_problem;

    #[test]
    fn paths_are_inside_the_repository() {
        for path in [
            ".",
            "./",
            "clusters/ml-prod",
            "./a/b/",
            "a..b",
            "_x/y.z",
            "é",
        ] {
            assert_eq!(path_problem(path), None, "{path}");
        }
        for path in [
            "", "/", "/a", "..", "../a", "a/../b", "a/..", "~/a", "a\\b", "a b", "${a}", "a*",
        ] {
            assert!(path_problem(path).is_some(), "{path}");
        }
    }
}
