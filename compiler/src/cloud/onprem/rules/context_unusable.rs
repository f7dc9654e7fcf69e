//! A kubeconfig context that no command can name.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A kubeconfig context that no command can name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2808",
        name: "context-unusable",
        severity: Severity::Error,
        summary: "the kubeconfig context is not a name that kubectl can be given",
        explain: r"### What it checks

Whether `context` is empty, starts with `-` or has control characters.

### Why it matters

Every command names the context. An empty one means whatever cluster kubectl was last pointed at;
one that starts with `-` is read as an option.

### What to do

Write a name that `kubectl config get-contexts -o name` shows.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: ""}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
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
    let context = &super::super::section(cluster).context;
    if context.is_empty() || context.starts_with('-') || context.chars().any(char::is_control) {
        report
            .draft(
                &RULE.code,
                context.span,
                "this cannot be a kubeconfig context",
            )
            .help("write a name that `kubectl config get-contexts -o name` shows")
            .emit();
    }
}
