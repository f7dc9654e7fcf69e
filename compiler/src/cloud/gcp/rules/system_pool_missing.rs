//! A new cluster without a pool for system pods.

use super::super::{created, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2615",
        name: "gke-system-pool-missing",
        severity: Severity::Error,
        summary: "no pool for the pods that every cluster runs",
        explain: r"### What it checks

Whether a cluster that gpuc creates has a pool without GPUs that always has a node, with no
taint that keeps pods away.

### Why it matters

GKE taints nodes with GPUs. The first pool, which GKE makes together with the cluster, is
removed once the others are there: then DNS, metrics and every controller have nowhere to run.

### What to do

Add a pool such as `{name: system, machine: e2-standard-4, nodes: {min: 1, max: 3}}`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
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
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let holes = |pool: &Pool| pool.gpus.is_hole() || pool.nodes.is_hole();
    let exists = created(&cluster.written).is_none();
    if exists
        || cluster
            .pools
            .iter()
            .any(|pool| holes(pool) || is_for_system(pool))
    {
        return;
    }
    let span = section(&cluster.written).cluster.span;
    let message = "no pool takes the pods that every cluster runs";
    report
        .draft(&RULE.code, span, message)
        .help(
            "add a pool without GPUs and without taints that always has a node: \
             `{name: system, machine: e2-standard-4, nodes: {min: 1, max: 3}}`",
        )
        .emit();
}

fn is_for_system(pool: &Pool) -> bool {
    let always = pool.nodes.get().is_some_and(|nodes| nodes.min > 0);
    always && !pool.has_gpus() && !pool.is_existing() && pool.tolerations.is_empty()
}
