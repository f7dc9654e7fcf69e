//! The branch in `gitops` is not a valid Git branch name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2082",
        name: "gitops-branch-invalid",
        severity: Severity::Error,
        summary: "the branch in `gitops` is not a valid Git branch name",
        checks: "Whether `branch` is a valid branch name according to `git check-ref-format`.",
        reason: "Such a branch cannot exist, and Flux or Argo CD would report that only in the cluster.",
        remedy: "Write the name as `git branch` prints it.",
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: "main..", path: clusters/demo}}
"#,
        correction: Correction::Replace(r#""main..""#, "main"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(gitops) = &cluster.config.gitops else {
        return;
    };
    let branch = gitops.branch();
    if !is_branch_name(branch) {
        let message = format!("invalid Git branch name `{}`", branch.value);
        let help = "write the name as `git branch` prints it, such as `main`";
        report
            .diagnostic(&RULE.code, branch.span, message)
            .help(help)
            .emit();
    }
}

/// Whether a name is valid for a Git branch: <https://git-scm.com/docs/git-check-ref-format>, read 2026-11-21.
fn is_branch_name(name: &str) -> bool {
    let is_forbidden =
        |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let is_part = |part: &str| {
        let is_lock = part.strip_suffix(".lock").is_some();
        !part.is_empty() && !part.starts_with('.') && !is_lock
    };
    name.split('/').all(is_part)
        && !name.contains(is_forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name != "HEAD"
}

#[cfg(test)]
mod tests {
    use super::is_branch_name;

    #[test]
    fn names_are_valid_as_in_git() {
        // Results of `git check-ref-format --branch` of Git 2.47.
        for name in ["main", "release/1.2", "a-b_c", "é", "$x", "a@b", "a.b"] {
            assert!(is_branch_name(name), "{name}");
        }
        for name in [
            "", "a b", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "-a",
            "a@{b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "HEAD",
        ] {
            assert!(!is_branch_name(name), "{name}");
        }
    }
}
