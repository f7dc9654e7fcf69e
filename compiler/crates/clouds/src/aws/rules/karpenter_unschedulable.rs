//! Karpenter without a node to run on.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::karpenter;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2544",
        name: "karpenter-unschedulable",
        severity: Severity::Error,
        summary: "Karpenter has no node to run on",
        checks: "Whether a new cluster with Karpenter has a pool without GPUs and with a fixed number of nodes.",
        reason: "Karpenter cannot run on the nodes that it creates itself. In a cluster without other nodes, its pods
stay pending and no node is ever created.",
        remedy: "Add a pool without GPUs and with a `count` of two nodes, so that a second replica of the controller
can run. The pool is a managed node group, and the cluster's system pods run on it too.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {min: 0, max: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}}
"#,
        correction: Correction::Replace("m7i.large, nodes: {min: 0, max:", "m7i.large, nodes: {count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(span) = karpenter::install_span(cluster) else {
        return;
    };
    // An existing cluster may have nodes that the file does not describe.
    let is_unresolved = |pool: &Pool| pool.nodes.get().is_none() || pool.gpus.get().is_none();
    if !cluster.config.cloud.creates_cluster() || cluster.pools.iter().any(is_unresolved) {
        return;
    }
    let can_run_karpenter = |pool: &Pool| {
        let has_nodes = pool.nodes.get().is_some_and(|nodes| nodes.min > 0);
        has_nodes && !pool.has_gpus() && !karpenter::provisions(cluster, pool)
    };
    if cluster.pools.is_empty() || cluster.pools.iter().any(can_run_karpenter) {
        return;
    }
    report
        .diagnostic(&RULE.code, span, "Karpenter has no node to run on")
        .primary_label("no pool without GPUs has a fixed number of nodes")
        .help("add a pool without GPUs and with `nodes: {count: 2}`")
        .emit();
}
