//! A pool that Karpenter would not scale.

use gpuc_schema::config::Autoscaler;

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool that Karpenter would not scale.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2535",
        name: "karpenter-scales-no-pool",
        severity: Severity::Error,
        summary: "a pool may grow, but Karpenter adds no nodes to it",
        explain: r#"### What it checks

Whether pools that gpuc makes have a fixed number of nodes where the autoscaler is Karpenter.

### Why it matters

Karpenter starts machines of its own and never changes the size of a managed node group. A pool
with `min` and `max` would stay at `min`.

### What to do

Give the pool a `count`; describe nodes that Karpenter makes as a pool with `existing`; or use
the Cluster Autoscaler.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
autoscaler: karpenter
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {min: 1, max: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
autoscaler: karpenter
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.autoscaler.value != Autoscaler::Karpenter {
        return;
    }
    for pool in made_pools(cluster) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let message = format!("Karpenter adds no nodes to pool `{}`", pool.name);
        report
            .draft(&RULE.code, nodes.max_span, message)
            .label(cluster.autoscaler.span, "it starts machines of its own")
            .help("write `count`, or describe Karpenter's nodes with `existing`")
            .emit();
    }
}
