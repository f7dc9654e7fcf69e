//! A host is named twice.

use std::collections::BTreeMap;

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A host is named twice.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2802",
        name: "host-twice",
        severity: Severity::Error,
        summary: "a host is named twice, in one pool or in two",
        explain: r"### What it checks

Whether each host stands in one pool, once.

### Why it matters

A node has one label `gpuc.dev/pool`. Two pools that share a host would set it in turn, at each
run of their scripts, and its GPUs would be counted twice.

### What to do

Remove the host from all pools but the one it belongs to.
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
  - name: more
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
  - name: more
    gpu: {model: A30, perNode: 2}
    hosts: [node-3]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut seen = BTreeMap::new();
    for pool in &cluster.pools {
        for host in &pool.written.hosts {
            let Some((first, span)) = seen.insert(host.as_str(), (&pool.name.value, host.span))
            else {
                continue;
            };
            let place = if *first == pool.name.value {
                "here already".to_owned()
            } else {
                format!("already in pool `{first}`")
            };
            report
                .draft(
                    &RULE.code,
                    host.span,
                    format!("host `{host}` is named twice"),
                )
                .label(span, place)
                .help("remove it from one of the two places")
                .emit();
        }
    }
}
