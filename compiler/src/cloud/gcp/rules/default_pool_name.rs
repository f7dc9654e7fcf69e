//! A pool called like the one that GKE makes.

use super::super::{DEFAULT_POOL, created};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2616",
        name: "gke-default-pool-name",
        severity: Severity::Error,
        summary: "a pool has the name of the one that GKE makes",
        explain: r"### What it checks

Whether a pool of a cluster that gpuc creates is called `default-pool`.

### Why it matters

GKE makes a pool of this name together with every cluster, and gpuc removes it once its own
pools are there.

### What to do

Call it something else.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: default-pool
    machine: e2-standard-4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: e2-standard-4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if created(&cluster.written).is_none() {
        return;
    }
    if let Some(pool) = cluster.pool(DEFAULT_POOL) {
        let message = format!("GKE makes a pool called `{DEFAULT_POOL}`, which gpuc removes");
        report
            .draft(&RULE.code, pool.name.span, message)
            .help("give the pool another name")
            .emit();
    }
}
