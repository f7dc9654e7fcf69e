//! Invalid kubeconfig context, on premises and in existing clusters.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(crate) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2808",
        name: "context-unusable",
        severity: Severity::Error,
        summary: "the kubeconfig context is invalid",
        checks: r"Whether `context` is empty, starts with `-` or has control characters.",
        reason: r"Every command names the context. With an empty context, kubectl uses the current context, which can be
any cluster. kubectl parses a leading `-` as an option.",
        remedy: r"Write a context that `kubectl config get-contexts -o name` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: ""}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"context: """#, "context: lab"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(context) = cluster.config.cloud.kubeconfig_context() else {
        return;
    };
    if context.is_empty() || context.starts_with('-') || context.chars().any(char::is_control) {
        report
            .diagnostic(&RULE.code, context.span, "invalid kubeconfig context")
            .help("write a context that `kubectl config get-contexts -o name` shows")
            .emit();
    }
}
