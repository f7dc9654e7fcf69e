//! Number of nodes that differs from the number of hosts.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2804",
        name: "host-count-mismatch",
        severity: Severity::Error,
        summary: "`nodes` of a pool differs from the number of its hosts",
        checks: r"Whether the number of nodes of a pool is the number of its `hosts`.",
        reason: r"gpuc derives quotas, totals and the checks of `verify.sh` from `nodes`. If it differs from the number of
hosts, they include nodes that do not exist, or omit some.",
        remedy: r"Write the number of hosts, or correct the list of hosts.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("count: 1", "count: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let hosts = &pool.settings.hosts;
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let is_checked = !pool.is_existing() && nodes.is_fixed();
        // `hosts-missing` reports pools without hosts.
        let (Some(first), true) = (hosts.first(), is_checked) else {
            continue;
        };
        let count = hosts.len();
        if usize::try_from(nodes.min) == Ok(count) {
            continue;
        }
        let message = format!(
            "pool `{}` has {}, but {}",
            pool.name,
            phrases::pluralize(nodes.min, "node"),
            phrases::pluralize(count, "host")
        );
        let builder = report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .label(first.span, "the hosts are listed here")
            .help(format!(
                "write `nodes: {{count: {count}}}`, or correct `hosts`"
            ));
        builder.emit();
    }
}
