//! Karpenter without a node that it does not make itself.

use super::karpenter;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// Karpenter without a node that it does not make itself.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2544",
        name: "karpenter-runs-nowhere",
        severity: Severity::Error,
        summary: "Karpenter has no node to run on",
        explain: "### What it checks

Whether a new cluster under Karpenter has a pool without GPUs with a fixed number of nodes.

### Why it matters

Karpenter makes the nodes, so it cannot run on one of them: in a cluster that begins with no other
node it waits forever, and nothing ever starts.

### What to do

Add a pool without GPUs and with a `count`, two nodes for a second controller. It is a managed node
group, and takes the cluster's own pods as well.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {min: 0, max: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}}
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
    let Some(span) = karpenter::installed(cluster) else {
        return;
    };
    // In a cluster that is there, nodes may be that the file does not speak of.
    let unclear = |pool: &Pool| pool.nodes.get().is_none() || pool.gpus.get().is_none();
    if !cluster.written.cloud.creates_cluster() || cluster.pools.iter().any(unclear) {
        return;
    }
    let carries = |pool: &Pool| {
        let some = pool.nodes.get().is_some_and(|nodes| nodes.min > 0);
        some && !pool.has_gpus() && !karpenter::makes(cluster, pool)
    };
    if cluster.pools.is_empty() || cluster.pools.iter().any(carries) {
        return;
    }
    report
        .draft(&RULE.code, span, "Karpenter has no node to run on")
        .here("no pool without GPUs has a fixed number of nodes")
        .help("add a pool without GPUs, `nodes: {count: 2}`")
        .emit();
}
