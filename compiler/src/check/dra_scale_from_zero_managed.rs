//! The cloud's autoscaler may add no first node for claims.

use gpuc_schema::config::Autoscaler;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The cloud's autoscaler may add no first node for claims.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2114",
        name: "dra-scale-from-zero-managed",
        severity: Severity::Warning,
        summary: "the cloud's autoscaler may not add the first node of a pool whose GPUs are claimed",
        explain: "### What it checks

Whether a pool with `allocation: dra` has a fewest number of nodes above 0 where `autoscaler` is
`managed`.

### Why it matters

The autoscalers of clouds are built on the Cluster Autoscaler, which learns what a node's devices
are from a node that is there. What is known of empty pools differs, and is written down nowhere;
one that claims GPUs on GKE was seen to stay empty (modelplaneai/modelplane#306).

### What to do

Keep one node: `min: 1`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
  - {name: gpu, machine: g2-standard-8, nodes: {min: 0, max: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
  - {name: gpu, machine: g2-standard-8, nodes: {min: 1, max: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.autoscaler.value != Autoscaler::Managed {
        return;
    }
    for pool in cluster.pools_claimed().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) else {
            continue;
        };
        let message = format!(
            "pool `{}` may stay empty when pods claim its GPUs",
            pool.name
        );
        report
            .draft(&RULE.code, nodes.min_span, message)
            .here("the cloud's autoscaler may not know what devices the first node would have")
            .label(pool.allocation.span, "pods claim the GPUs")
            .label(cluster.autoscaler.span, "who adds nodes")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}
