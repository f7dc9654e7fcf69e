//! The name of a storage class that it cannot have.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The name of a storage class that it cannot have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2101",
        name: "storage-class-name",
        severity: Severity::Error,
        summary: "a storage class cannot have its name",
        explain: "### What it checks

Whether the name of a storage class is one that Kubernetes takes, only one class has it, and the
cloud makes no class of that name itself.

### Why it matters

Kubernetes changes no storage class that is there: applying one of the cloud's name fails, and of
two with one name only the first is made.

### What to do

Choose another name: lower-case letters, digits, `-` and `.`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: gp2, volumes: {disk: {}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.written.storage else {
        return;
    };
    let facts = cluster.cloud.facts();
    let taken = facts.storage.map_or(&[][..], |storage| storage.classes);
    for (index, class) in storage.classes.iter().enumerate() {
        let name = &class.name;
        let mut before = storage.classes[..index].iter();
        let (message, first) = if !is_subdomain(name) {
            (
                format!("`{name}` cannot be the name of a storage class"),
                None,
            )
        } else if taken.contains(&name.as_str()) {
            (
                format!("{} makes a class `{name}` itself", facts.name),
                None,
            )
        } else if let Some(other) = before.find(|other| other.name.value == name.value) {
            (
                format!("two classes are called `{name}`"),
                Some(other.name.span),
            )
        } else {
            continue;
        };
        let mut draft = report.draft(&RULE.code, name.span, message);
        if let Some(first) = first {
            draft = draft.label(first, "the first one");
        }
        draft
            .help("choose another name: lower-case letters, digits, `-` and `.`")
            .emit();
    }
}

/// Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>, RFC 1123 subdomains, 2026-11-21.
fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(plain)
            && bytes.last().copied().is_some_and(plain)
            && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["fast", "a.b-c", "0"] {
            assert!(is_subdomain(name), "{name}");
        }
        for name in ["", "Fast", "-a", "a-", "a..b", "a_b", "a b"] {
            assert!(!is_subdomain(name), "{name}");
        }
    }
}
