//! The cluster has a name that it cannot have.

use super::Rule;
use super::syntax::is_dns_label;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The cluster has a name that it cannot have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2002",
        name: "cluster-name-invalid",
        severity: Severity::Error,
        summary: "the cluster has a name that it cannot have",
        explain: "### What it checks

Whether `metadata.name` has lower-case letters, digits and `-`, starting with a letter, at most
40 characters; and whether the cloud has clusters of this name, or of the one in
`cluster.existing`.

### Why it matters

The name is a folder of the generated tree, a cluster in the cloud, and a part of other names
there.

### What to do

Rename the cluster. One that is there already and has another name in the cloud gets it by
`cluster: {existing: {name: …}}`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: "ml prod"}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: ml-prod}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let name = &cluster.name;
    let facts = cluster.cloud.facts();
    let rule = &facts.cluster_name;
    if !is_tree_name(name) {
        let message = format!("a cluster cannot be called `{name}`");
        let help =
            "use lower-case letters, digits and -, starting with a letter; at most 40 characters";
        report
            .draft(&RULE.code, name.span, message)
            .help(help)
            .emit();
        if cluster.written.cloud.existing_name().is_none() {
            return;
        }
    }
    let name = cluster.written.cloud.existing_name().unwrap_or(name);
    if name.is_empty() || name.len() > rule.max || !(rule.allows)(name) {
        let message = format!("no cluster of {} can be called `{name}`", facts.name);
        let help = format!(
            "it may have {}; at most {} characters",
            rule.words, rule.max
        );
        report
            .draft(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

/// Whether a name can be the folder of a tree and a part of the names of objects.
fn is_tree_name(name: &str) -> bool {
    is_dns_label(name) && name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::is_tree_name;

    #[test]
    fn names_of_trees() {
        assert!(is_tree_name("ml-prod") && is_tree_name(&"a".repeat(40)));
        for name in ["", "Ml", "1ml", "ml-", "../ml", "ml.prod", &"a".repeat(41)] {
            assert!(!is_tree_name(name), "{name}");
        }
    }
}
