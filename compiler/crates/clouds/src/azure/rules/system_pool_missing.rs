//! New cluster without a system pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{create_section, section, system_pool};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2705",
        name: "aks-system-pool-missing",
        severity: Severity::Error,
        summary: "a cluster that gpuc creates has no system pool",
        checks: "Whether a cluster with `cluster: {create: …}` has a pool without GPUs that does not use spot machines.",
        reason: "AKS creates a cluster together with its first pool, which runs system pods such as CoreDNS. It cannot
use spot machines. With GPU machines, the system pods would occupy expensive nodes.",
        remedy: "Add a pool without GPUs. The first one in the file becomes the system pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("name: gpu", "name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let unresolved = cluster.pools.iter().any(|pool| pool.gpus.is_unresolved());
    if create_section(cluster).is_none() || unresolved || system_pool(cluster).is_some() {
        return;
    }
    let mut builder = report.diagnostic(
        &RULE.code,
        section(&cluster.config).cluster.span,
        "the cluster has no system pool",
    );
    for pool in &cluster.pools {
        let reason = if pool.is_existing() {
            "already exists"
        } else if pool.has_gpus() {
            "has GPUs"
        } else {
            "uses spot machines"
        };
        builder = builder.label(pool.name.span, format!("this pool {reason}"));
    }
    builder
        .help("add `- {name: system, machine: Standard_D4s_v5, nodes: {count: 3}}` to `nodePools`")
        .emit();
}
