//! New cluster without a pool for system pods.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{create_section, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2615",
        name: "gke-system-pool-missing",
        severity: Severity::Error,
        summary: "a new cluster has no pool for system pods",
        checks: r"Whether a cluster that gpuc creates has a pool without GPUs that always has a node and no taints that
repel pods.",
        reason: r"GKE taints nodes with GPUs. gpuc deletes the pool that GKE creates with the cluster after it has created
the pools of the file. Without another suitable pool, DNS, metrics and controllers are unschedulable.",
        remedy: r"Add a pool such as `{name: system, machine: e2-standard-4, nodes: {min: 1, max: 3}}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "name: gpu",
            "name: system
    machine: e2-standard-4
    nodes: {count: 1}
  - name: gpu",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let is_unresolved = |pool: &Pool| pool.gpus.is_unresolved() || pool.nodes.is_unresolved();
    let is_existing = create_section(&cluster.config).is_none();
    if is_existing
        || cluster
            .pools
            .iter()
            .any(|pool| is_unresolved(pool) || can_run_system_pods(pool))
    {
        return;
    }
    let span = section(&cluster.config).cluster.span;
    let message = "no pool can run the system pods of the cluster";
    report
        .diagnostic(&RULE.code, span, message)
        .help(
            "add a pool without GPUs and without taints that always has a node: \
             `{name: system, machine: e2-standard-4, nodes: {min: 1, max: 3}}`",
        )
        .emit();
}

fn can_run_system_pods(pool: &Pool) -> bool {
    let has_node = pool.nodes.get().is_some_and(|nodes| nodes.min > 0);
    has_node && !pool.has_gpus() && !pool.is_existing() && pool.tolerations.is_empty()
}
