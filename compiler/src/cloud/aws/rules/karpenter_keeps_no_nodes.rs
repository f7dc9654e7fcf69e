//! A fewest number of nodes that Karpenter does not keep.

use super::karpenter;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A fewest number of nodes that Karpenter does not keep.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2543",
        name: "karpenter-keeps-no-nodes",
        severity: Severity::Error,
        summary: "Karpenter keeps no fewest number of nodes",
        explain: "### What it checks

Whether a pool of Karpenter's, one whose number of nodes is not fixed, begins at zero nodes.

### Why it matters

Karpenter makes a node when a pod waits for one, and removes it when it is empty. It has no fewest
number of nodes: `min: 1` would be a promise that nobody keeps, and the first pod would wait for a
machine all the same.

### What to do

Write `min: 0`. Nodes that must always be there belong in a pool with a `count`, which stays a
managed node group.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 1, max: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::pools(cluster) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min > 0) else {
            continue;
        };
        let message = format!("pool `{}` may have fewer nodes than its `min`", pool.name);
        report
            .draft(&RULE.code, nodes.min_span, message)
            .here("Karpenter removes nodes that are empty, down to none")
            .label(cluster.autoscaler.span, "who adds nodes")
            .help("write `min: 0`, and put nodes that always stay into a pool with a `count`")
            .replace(nodes.min_span, "0")
            .emit();
    }
}
