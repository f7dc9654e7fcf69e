//! The branch of `gitops` has a name that Git refuses.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The branch of `gitops` has a name that Git refuses.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2082",
        name: "gitops-branch-invalid",
        severity: Severity::Error,
        summary: "the branch of `gitops` has a name that Git refuses",
        explain: "### What it checks

Whether `branch` is a name that Git takes for a branch, by the rules of `git check-ref-format`.

### Why it matters

No such branch can be there, and Flux or Argo CD finds that out only in the cluster.

### What to do

Write the branch's own name, as `git branch` prints it.
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: "main..", path: clusters/demo}}
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
    let branch = gitops.branch();
    if !is_branch(branch) {
        let message = format!("no branch can be called `{}`", branch.value);
        let draft = report.draft(&RULE.code, branch.span, message);
        let help = "write its name as `git branch` prints it, as `main`";
        draft.help(help).emit();
    }
}

/// Whether Git takes the name: <https://git-scm.com/docs/git-check-ref-format>, read 2026-11-21.
fn is_branch(name: &str) -> bool {
    let is_odd =
        |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let is_part = |part: &str| {
        let ends = part.strip_suffix(".lock").is_some();
        !part.is_empty() && !part.starts_with('.') && !ends
    };
    name.split('/').all(is_part)
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name != "HEAD"
}

#[cfg(test)]
mod tests {
    use super::is_branch;

    #[test]
    fn what_git_takes_and_refuses() {
        // What `git check-ref-format --branch` of Git 2.47 answers.
        for name in ["main", "release/1.2", "a-b_c", "é", "$x", "a@b", "a.b"] {
            assert!(is_branch(name), "{name}");
        }
        for name in [
            "", "a b", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "-a",
            "a@{b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "HEAD",
        ] {
            assert!(!is_branch(name), "{name}");
        }
    }
}
