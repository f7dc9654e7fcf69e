//! The cloud does not support this autoscaler.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, one_of_help};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2012",
        name: "autoscaler-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not support this autoscaler",
        checks: "Whether the cloud supports the `autoscaler`.",
        reason: "Each cloud adds nodes in its own way: with a managed autoscaler, or with an autoscaler that runs in
the cluster.",
        remedy: "Write a value that the help lists, or remove the key to use the cloud's default.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: managed
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("managed", "none"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let autoscaler = cluster.autoscaler;
    if facts.autoscalers.contains(&autoscaler.value) {
        return;
    }
    let message = format!(
        "{} does not support the autoscaler `{}`",
        facts.name,
        keyword(&autoscaler)
    );
    let builder = report
        .diagnostic(&RULE.code, autoscaler.span, message)
        .help(one_of_help(facts.autoscalers));
    match facts.autoscalers {
        [only] => builder.replace(autoscaler.span, keyword(only)).emit(),
        _ => builder.emit(),
    };
}
