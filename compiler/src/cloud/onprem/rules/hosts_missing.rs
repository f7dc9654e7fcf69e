//! A pool names no hosts.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool names no hosts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2801",
        name: "hosts-missing",
        severity: Severity::Error,
        summary: "a pool on premises names no hosts",
        explain: r"### What it checks

Whether a pool lists its `hosts`, unless it was made by hand and is picked out by `existing`.

### Why it matters

No cloud makes machines here: the pool's nodes are those that it names. Without them nothing is
labelled, and nothing that gpuc emits finds a node.

### What to do

List the node names, as `kubectl get nodes` shows them.
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
    for pool in &cluster.pools {
        if !pool.is_existing() && pool.written.hosts.is_empty() {
            let message = format!("pool `{}` names no hosts", pool.name);
            report
                .draft(&RULE.code, pool.name.span, message)
                .help("add `hosts: [node-1, node-2]` with node names as `kubectl get nodes` shows them")
                .emit();
        }
    }
}
