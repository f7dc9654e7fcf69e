//! The cloud cannot work with this autoscaler.

use super::Rule;
use super::words::{one_of, word};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The cloud cannot work with this autoscaler.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2012",
        name: "autoscaler-unavailable",
        severity: Severity::Error,
        summary: "the cloud cannot work with this autoscaler",
        explain: "### What it checks

Whether `autoscaler` is one that the cloud has, or that can run in its clusters.

### Why it matters

Each cloud has its own way to add nodes: an autoscaler of its own, or one that runs in the
cluster.

### What to do

Write one that the help lists, or leave the key out for the cloud's usual one.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: managed
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
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
autoscaler: none
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
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
    let facts = cluster.cloud.facts();
    let autoscaler = cluster.autoscaler;
    if facts.autoscalers.contains(&autoscaler.value) {
        return;
    }
    let message = format!("{} has no autoscaler `{}`", facts.name, word(&autoscaler));
    let draft = report.draft(&RULE.code, autoscaler.span, message);
    let draft = draft.help(one_of(facts.autoscalers));
    match facts.autoscalers {
        [only] => draft.replace(autoscaler.span, word(only)).emit(),
        _ => draft.emit(),
    };
}
