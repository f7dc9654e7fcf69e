//! Pool of an existing cluster without a selector.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{node_pool, provider_facts};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2820",
        name: "nodes-not-selected",
        severity: Severity::Error,
        summary: "a pool of an existing cluster does not select its nodes",
        checks: r"Whether a pool has `existing.selector` with `cloud: {existing: …}`. On CoreWeave, a pool with
`machine` needs none: gpuc writes its NodePool, with the labels.",
        reason: r"gpuc creates and labels no nodes in such a cluster. Without a selector, it does not know which nodes
belong to the pool, and the generated objects match no nodes.",
        remedy: r"Choose a label that all nodes of the pool and no other nodes have, such as `gpuc.dev/pool`, and write
it as `existing: {selector: …}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: rke2}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "    nodes:",
            "    existing: {selector: {gpuc.dev/pool: gpu}}
    nodes:",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    for pool in &cluster.pools {
        if pool.is_existing() || node_pool::is_written(provider, pool) {
            continue;
        }
        let name = &pool.name;
        let message = format!("pool `{name}` does not select its nodes");
        let machine = if provider.writes_node_pools {
            "; for a NodePool that gpuc writes, add `machine`"
        } else {
            ""
        };
        let help = format!(
            "add `existing: {{selector: {{gpuc.dev/pool: {name}}}}}` and set this label on the nodes{machine}"
        );
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}
