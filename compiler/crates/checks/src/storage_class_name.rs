//! The name of a storage class is invalid.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2101",
        name: "storage-class-name",
        severity: Severity::Error,
        summary: "the name of a storage class is invalid",
        checks: "Whether the name of a storage class is valid and unique, and is not the name of a storage class that
the cloud creates itself.",
        reason: "Most fields of an existing StorageClass are immutable. Applying one with the name of a class of the
cloud fails. Of two with the same name only the first is created.",
        remedy: "Choose another name: lower-case letters, digits, `-` and `.`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("name: gp2", "name: fast"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.config.storage else {
        return;
    };
    let facts = cluster.cloud.facts();
    let built_in = facts.storage.map_or(&[][..], |storage| storage.classes);
    for (index, class) in storage.classes.iter().enumerate() {
        let name = &class.name;
        let mut previous = storage.classes[..index].iter();
        let (message, first) = if !is_class_name(name) {
            (format!("invalid storage class name `{name}`"), None)
        } else if built_in.contains(&name.as_str()) {
            (
                format!("{} already has a storage class `{name}`", facts.name),
                None,
            )
        } else if let Some(other) = previous.find(|other| other.name.value == name.value) {
            (
                format!("duplicate storage class name `{name}`"),
                Some(other.name.span),
            )
        } else {
            continue;
        };
        let mut builder = report.diagnostic(&RULE.code, name.span, message);
        if let Some(first) = first {
            builder = builder.label(first, "the first class of this name");
        }
        builder
            .help("choose another name: lower-case letters, digits, `-` and `.`")
            .emit();
    }
}

/// Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>, RFC 1123 subdomains, 2026-11-21.
fn is_class_name(name: &str) -> bool {
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
    fn subdomains() {
        for name in ["fast", "a.b-c", "0"] {
            assert!(is_class_name(name), "{name}");
        }
        for name in ["", "Fast", "-a", "a-", "a..b", "a_b", "a b"] {
            assert!(!is_class_name(name), "{name}");
        }
    }
}
