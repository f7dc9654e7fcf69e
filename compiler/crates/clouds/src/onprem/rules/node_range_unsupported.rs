//! Pool on premises with a range of nodes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2805",
        name: "node-range-unsupported",
        severity: Severity::Error,
        summary: "a pool on premises has a range of nodes",
        checks: r"Whether `min` and `max` of a pool on premises are the same.",
        reason: r"No component adds or removes hosts. The size of the pool is constant, but gpuc would compute quotas and totals
from a range.",
        remedy: r"Write `count` with the number of hosts.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {min: 0, max: 1}
"#,
        correction: Correction::Replace("min: 0, max:", "count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let hosts = u32::try_from(pool.settings.hosts.len()).unwrap_or(nodes.max);
        let count = if pool.is_existing() {
            nodes.max
        } else {
            hosts.max(1)
        };
        let message = format!("pool `{}` cannot be scaled: its hosts are fixed", pool.name);
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .label(nodes.min_span, "the minimum differs from the maximum")
            .help(format!("write `nodes: {{count: {count}}}`"))
            .emit();
    }
}
