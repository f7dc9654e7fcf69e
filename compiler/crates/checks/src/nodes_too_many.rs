//! The maximum node count of a pool exceeds the cloud's limit.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2041",
        name: "nodes-too-many",
        severity: Severity::Error,
        summary: "the maximum node count of a pool exceeds the cloud's limit",
        checks: "Whether `nodes.max` (or `nodes.count`) of each pool is within the cloud's limit for one node pool.",
        reason: "The cloud rejects the pool, after the cluster is already created.",
        remedy: "Lower the number, or spread the nodes over several pools.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {min: 1, max: 2000}
"#,
        correction: Correction::Replace("max: 2000", "max: 1000"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.max > facts.max_nodes) else {
            continue;
        };
        let limit = facts.max_nodes;
        let message = format!(
            "a node pool of {} cannot have more than {limit} nodes",
            facts.name
        );
        let help = format!("write {limit} or less, or use several pools");
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .help(help)
            .replace(nodes.max_span, limit.to_string())
            .emit();
    }
}
