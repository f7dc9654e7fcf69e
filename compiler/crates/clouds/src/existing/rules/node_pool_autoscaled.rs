//! NodePool of CoreWeave with a range of nodes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{node_pool, provider_facts};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2824",
        name: "node-pool-autoscaled",
        severity: Severity::Error,
        summary: "a NodePool that gpuc writes has a range of nodes",
        checks: r"Whether `min` and `max` are the same in a pool on CoreWeave with `machine`.",
        reason: r"A NodePool requires `targetNodes`, and CoreWeave's autoscaler changes this field. Each synchronization
of the tree would set it back, and remove nodes with running pods.",
        remedy: r"Write `count`. For an autoscaled pool, create the NodePool yourself, and select its nodes with
`existing: {selector: {compute.coreweave.com/node-pool: NAME}}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: coreweave}}
nodePools:
  - name: gpu
    machine: gd-8xh100ib-i128
    gpu: {model: H100, perNode: 8}
    nodes: {min: 1, max: 2}
"#,
        correction: Correction::Replace("min: 1, max: 2", "count: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    let pools = cluster.pools.iter();
    for pool in pools.filter(|pool| node_pool::is_written(provider, pool)) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let message = format!("the NodePool of pool `{}` cannot be autoscaled", pool.name);
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .label(nodes.min_span, "the minimum differs from the maximum")
            .help(format!(
                "write `nodes: {{count: {}}}`, or replace `machine` by `existing`",
                nodes.max
            ))
            .emit();
    }
}
