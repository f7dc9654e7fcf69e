//! Pool with the name of GKE's default pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{DEFAULT_POOL, create_section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2616",
        name: "gke-default-pool-name",
        severity: Severity::Error,
        summary: "a pool has the name of GKE's default pool",
        checks: r"Whether a pool of a cluster that gpuc creates is named `default-pool`.",
        reason: r"GKE creates a pool with this name together with every cluster. gpuc deletes it after it has created
the pools of the file.",
        remedy: r"Choose another name for the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: default-pool
    machine: e2-standard-4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("default-pool", "system"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if create_section(&cluster.config).is_none() {
        return;
    }
    if let Some(pool) = cluster.pool(DEFAULT_POOL) {
        let message =
            format!("`{DEFAULT_POOL}` is the name of a pool that GKE creates and gpuc deletes");
        report
            .diagnostic(&RULE.code, pool.name.span, message)
            .help("give the pool another name")
            .emit();
    }
}
