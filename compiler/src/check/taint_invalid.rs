//! A taint is not one that Kubernetes takes.

use super::Rule;
use super::syntax::{key_problem, value_problem};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A taint is not one that Kubernetes takes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2006",
        name: "taint-invalid",
        severity: Severity::Error,
        summary: "a taint is not one that Kubernetes takes",
        explain: "### What it checks

Whether keys and values of `taints` have the syntax of Kubernetes labels.

### Why it matters

Nodes with such a taint cannot join the cluster.

### What to do

Change the key or the value as the help says.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: "needs a GPU", effect: NoSchedule}]
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: "present", effect: NoSchedule}]
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for taint in cluster.pools.iter().flat_map(|pool| &pool.written.taints) {
        let taint = &taint.value;
        let key = key_problem(&taint.key).map(|problem| (&taint.key, "key", problem));
        let value = value_problem(&taint.value).map(|problem| (&taint.value, "value", problem));
        for (text, what, problem) in key.into_iter().chain(value) {
            let message = format!("`{text}` is not the {what} of a taint");
            report
                .draft(&RULE.code, text.span, message)
                .help(problem)
                .emit();
        }
    }
}
