//! A pool on premises has a range of nodes.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool on premises has a range of nodes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2805",
        name: "nodes-not-fixed",
        severity: Severity::Error,
        summary: "a pool on premises has fewer nodes at one time than at another",
        explain: r"### What it checks

Whether `min` and `max` of a pool on premises are the same.

### Why it matters

Nothing adds or removes hosts. The pool would stay at one size, while quotas and totals were made
for two.

### What to do

Write `count` with the number of hosts.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {min: 0, max: 1}
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
    for pool in &cluster.pools {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let hosts = u32::try_from(pool.written.hosts.len()).unwrap_or(nodes.max);
        let count = if pool.is_existing() {
            nodes.max
        } else {
            hosts.max(1)
        };
        let message = format!("pool `{}` cannot grow: nothing adds hosts", pool.name);
        report
            .draft(&RULE.code, nodes.max_span, message)
            .label(nodes.min_span, "the fewest")
            .help(format!("write `nodes: {{count: {count}}}`"))
            .emit();
    }
}
