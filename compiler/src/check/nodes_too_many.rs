//! A pool may have more nodes than the cloud allows.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool may have more nodes than the cloud allows.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2041",
        name: "nodes-too-many",
        severity: Severity::Error,
        summary: "a pool may have more nodes than the cloud allows",
        explain: "### What it checks

Whether the most nodes of a pool are within the cloud's own limit.

### Why it matters

The cloud refuses the pool, after the cluster has been made.

### What to do

Lower the number, or spread the nodes over several pools.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {min: 1, max: 2000}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {min: 1, max: 1000}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.max > facts.max_nodes) else {
            continue;
        };
        let most = facts.max_nodes;
        let message = format!("a pool of {} has at most {most} nodes", facts.name);
        let draft = report.draft(&RULE.code, nodes.max_span, message);
        let help = format!("write {most} or less, or make several pools");
        draft
            .help(help)
            .replace(nodes.max_span, most.to_string())
            .emit();
    }
}
