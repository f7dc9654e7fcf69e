//! A cluster that gpuc makes without a pool for the system.

use super::super::{created, section, system_pool};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A cluster that gpuc makes without a pool for the system.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2705",
        name: "aks-system-pool-missing",
        severity: Severity::Error,
        summary: "a cluster that gpuc makes has no pool for the system",
        explain: "### What it checks

Whether a cluster with `cluster: {create: …}` has a pool without GPUs that is not of spot machines.

### Why it matters

AKS makes a cluster together with its first pool, which runs CoreDNS and the like and cannot be of
spot machines. On GPU machines it would keep an expensive one busy for that alone.

### What to do

Add a pool without GPUs; the first one in the file becomes the system pool.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let unclear = cluster.pools.iter().any(|pool| pool.gpus.is_hole());
    if created(cluster).is_none() || unclear || system_pool(cluster).is_some() {
        return;
    }
    let mut draft = report.draft(
        &RULE.code,
        section(&cluster.written).cluster.span,
        "the cluster has no pool for the system",
    );
    for pool in &cluster.pools {
        let why = if pool.is_existing() {
            "is there already"
        } else if pool.has_gpus() {
            "has GPUs"
        } else {
            "is of spot machines"
        };
        draft = draft.label(pool.name.span, format!("this pool {why}"));
    }
    draft
        .help("add `- {name: system, machine: Standard_D4s_v5, nodes: {count: 3}}` to `nodePools`")
        .emit();
}
