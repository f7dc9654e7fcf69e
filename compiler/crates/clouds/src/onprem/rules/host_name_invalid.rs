//! Host name that is not a valid node name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::is_dns_label;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2803",
        name: "host-name-invalid",
        severity: Severity::Error,
        summary: "a host name is not a valid node name",
        checks: r"Whether a host name is a valid node name: lower-case letters, digits, `-` and `.`, at most 253 characters.
Each part between dots starts and ends with a letter or digit.",
        reason: r"The scripts look up nodes by this name. No node can have an invalid name, so the lookup always fails.",
        remedy: r"Write the node name that `kubectl get nodes` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [Node_1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("[Node_1", "[node-1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for host in cluster.pools.iter().flat_map(|pool| &pool.settings.hosts) {
        if !is_node_name(host) {
            report
                .diagnostic(&RULE.code, host.span, format!("invalid node name `{host}`"))
                .help("write the node name that `kubectl get nodes` shows, in lower case")
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
    fn node_names_are_dns_subdomains() {
        for name in ["dgx-01", "dgx-01.lab.example.com", "1"] {
            assert!(is_node_name(name), "{name}");
        }
        for name in ["", "Node", "a_b", "-a", "a-", "a..b", "a.", "a b", "a\n"] {
            assert!(!is_node_name(name), "{name}");
        }
        assert!(!is_node_name(&"a".repeat(254)));
    }
}
