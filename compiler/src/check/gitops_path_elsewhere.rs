//! The path of `gitops` does not end in the cluster's name.

use super::Rule;
use super::gitops_path_invalid;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The path of `gitops` does not end in the cluster's name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2084",
        name: "gitops-path-elsewhere",
        severity: Severity::Warning,
        summary: "the path of `gitops` does not end in the cluster's name",
        explain: "### What it checks

Whether the last folder of `path` is called as the cluster is. The root of a repository, `.`, has no
name, and passes.

### Why it matters

`gpuc build` writes the tree to a folder of the cluster's name. Flux or Argo CD would look into
another one; and where several clusters take `gitops` from one base, all of them into the same.

### What to do

End the path in the cluster's name; of a base, give each cluster a path of its own. Where something
moves the tree after it was built, `allow: [gitops-path-elsewhere]`.
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
gitops: {flux: {repository: "https://git.example.com/acme/gitops.git", branch: main, path: clusters/production}}
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
    if gitops_path_invalid::problem(path).is_some() {
        return;
    }
    let parts = path.split('/');
    let mut parts: Vec<_> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    let name = cluster.name.value.as_str();
    let Some(last) = parts.pop().filter(|last| *last != name) else {
        return;
    };
    parts.push(name);
    let message = format!("the tree is written to a folder `{name}`, and looked for in `{last}`");
    let draft = report.draft(&RULE.code, path.span, message);
    let draft = draft.label(cluster.name.span, "the folder is called as the cluster is");
    draft.help(format!("write `{}`", parts.join("/"))).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn only_the_last_folder_counts() {
        let found = |path: &str| {
            let rest = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
            ";
            let gitops = format!("gitops: {{argocd: {{repository: r, branch: b, path: {path}}}}}");
            messages(&format!("{rest}{gitops}"), "GPUC2084").len()
        };
        for path in [".", "./", "demo", "a/demo/", "./a//demo/."] {
            assert_eq!(found(path), 0, "{path}");
        }
        for path in ["a", "demo/a", "a/Demo"] {
            assert_eq!(found(path), 1, "{path}");
        }
    }
}
