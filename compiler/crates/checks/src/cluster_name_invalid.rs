//! The name of the cluster is invalid.

use gpuc_kubernetes::names::is_dns_label;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2002",
        name: "cluster-name-invalid",
        severity: Severity::Error,
        summary: "the name of the cluster is invalid",
        checks: "Whether `metadata.name` consists of at most 40 lower-case letters, digits and `-`, and starts with a
letter. Whether the cloud accepts this name, or the name in `cluster.existing`, for a cluster.",
        reason: "The name is a directory of the generated tree, the name of the cluster in the cloud, and a part of
other names there.",
        remedy: "Rename the cluster. If an existing cluster has another name in the cloud, write that name as
`cluster: {existing: {name: …}}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [vpc-missing]
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: "ml prod"}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""ml prod""#, "ml-prod"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let name = &cluster.name;
    let facts = cluster.cloud.facts();
    let rule = &facts.cluster_name;
    if !is_tree_name(name) {
        let message = format!("invalid cluster name `{name}`");
        let help =
            "use lower-case letters, digits and -, starting with a letter; at most 40 characters";
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
        if cluster.config.cloud.existing_name().is_none() {
            return;
        }
    }
    let name = cluster.config.cloud.existing_name().unwrap_or(name);
    if name.is_empty() || name.len() > rule.max || !(rule.is_valid)(name) {
        let message = format!("invalid name `{name}` for a cluster of {}", facts.name);
        let help = format!("use {}; at most {} characters", rule.description, rule.max);
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

/// Whether a name can be a directory of the tree and a part of the names of objects.
fn is_tree_name(name: &str) -> bool {
    is_dns_label(name) && name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::is_tree_name;

    #[test]
    fn tree_names_are_short_dns_labels() {
        assert!(is_tree_name("ml-prod") && is_tree_name(&"a".repeat(40)));
        for name in ["", "Ml", "1ml", "ml-", "../ml", "ml.prod", &"a".repeat(41)] {
            assert!(!is_tree_name(name), "{name}");
        }
    }
}
