//! Two clusters of a run have the same name.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::compile::Compilation;

/// Two clusters of a run have the same name.
pub static CODE: Code = Code {
    id: "GPUC2901",
    name: "cluster-name-taken",
    severity: Severity::Error,
    summary: "two clusters of a run have the same name",
    checks: "Whether each cluster of a run has a unique name.",
    reason: "The tree of a cluster is a directory of the same name. The second cluster would overwrite the first.",
    remedy: "Rename one of the clusters.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: a}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: b}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
"#,
    correction: Correction::Replace(
        "---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}",
        "---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo-2}",
    ),
};

pub(super) fn check(compilations: &[Compilation], report: &mut Report) {
    let mut first = BTreeMap::new();
    for compilation in compilations {
        let Some(config) = &compilation.config else {
            continue;
        };
        let name = &config.metadata.name;
        if !name.span.is_written() {
            continue;
        }
        if let Some(before) = first.insert(name.value.clone(), name.span) {
            report
                .diagnostic(&CODE, name.span, format!("duplicate cluster name `{name}`"))
                .label(before, "the first cluster of this name")
                .help("rename one of the clusters: each has a directory of its name")
                .emit();
        }
    }
}
