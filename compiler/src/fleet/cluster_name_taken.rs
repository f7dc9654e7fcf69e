//! Two clusters have one name.

use std::collections::BTreeMap;

use crate::compile::Compilation;
use crate::diag::{Code, Report, Severity};

/// Two clusters have one name.
pub static CODE: Code = Code {
    id: "GPUC2901",
    name: "cluster-name-taken",
    severity: Severity::Error,
    summary: "two clusters of a run have one name",
    explain: "### What it checks

Whether each cluster of a run has a name of its own.

### Why it matters

A cluster's tree is a folder of its name; the second would overwrite the first.

### What to do

Give one of them another name.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: a}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: b}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: a}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
---
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo-2}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: b}}
nodePools: [{name: cpu, hosts: [node-1], nodes: {count: 1}}]
"#,
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
                .draft(
                    &CODE,
                    name.span,
                    format!("two clusters are called `{name}`"),
                )
                .label(before, "the other one")
                .help("give one of them another name: each has a folder of its name")
                .emit();
        }
    }
}
