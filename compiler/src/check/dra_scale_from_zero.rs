//! The Cluster Autoscaler adds no first node for claims.

use gpuc_schema::config::Autoscaler;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The Cluster Autoscaler adds no first node for claims.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2113",
        name: "dra-scale-from-zero",
        severity: Severity::Error,
        summary: "the Cluster Autoscaler shall add the first node of a pool whose GPUs are claimed",
        explain: "### What it checks

Whether a pool with `allocation: dra` has a fewest number of nodes above 0 where `autoscaler` is
`clusterAutoscaler`.

### Why it matters

The Cluster Autoscaler learns what a node's devices are from a node that is there. What an empty
pool's would have is known to it for a few clouds, and for none that it runs on here
(kubernetes/autoscaler, `docs/dra_support.md`). Pods with claims would wait for ever.

### What to do

Keep one node: `min: 1`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
autoscaler: clusterAutoscaler
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
autoscaler: clusterAutoscaler
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 1, max: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.autoscaler.value != Autoscaler::ClusterAutoscaler {
        return;
    }
    for pool in cluster.pools_claimed().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) else {
            continue;
        };
        let message = format!("pool `{}` stays empty when pods claim its GPUs", pool.name);
        report
            .draft(&RULE.code, nodes.min_span, message)
            .here("the Cluster Autoscaler does not know what devices the first node would have")
            .label(pool.allocation.span, "pods claim the GPUs")
            .label(cluster.autoscaler.span, "who adds nodes")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}
