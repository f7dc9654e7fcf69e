//! A host is not a node name.

use super::super::is_dns_label;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A host is not a node name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2803",
        name: "host-name-invalid",
        severity: Severity::Error,
        summary: "a host cannot be the name of a node",
        explain: r"### What it checks

Whether a host is what Kubernetes takes for a node's name: lower-case letters, digits, `-` and `.`,
each part between dots starting and ending with a letter or digit, at most 253 characters.

### Why it matters

Scripts look the node up by this name. A name that no node can have is never found.

### What to do

Write the name that `kubectl get nodes` shows.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [Node_1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for host in cluster.pools.iter().flat_map(|pool| &pool.written.hosts) {
        if !is_node_name(host) {
            report
                .draft(
                    &RULE.code,
                    host.span,
                    format!("no node can be called `{host}`"),
                )
                .help("write the name that `kubectl get nodes` shows, in lower case")
                .emit();
        }
    }
}

/// An RFC 1123 subdomain (kubernetes.io/docs/concepts/overview/working-with-objects/names, 2026-11).
fn is_node_name(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_dns_label)
}

#[cfg(test)]
mod tests {
    use super::is_node_name;

    #[test]
    fn nodes_have_dns_names() {
        for name in ["dgx-01", "dgx-01.lab.example.com", "1"] {
            assert!(is_node_name(name), "{name}");
        }
        for name in ["", "Node", "a_b", "-a", "a-", "a..b", "a.", "a b", "a\n"] {
            assert!(!is_node_name(name), "{name}");
        }
        assert!(!is_node_name(&"a".repeat(254)));
    }
}
