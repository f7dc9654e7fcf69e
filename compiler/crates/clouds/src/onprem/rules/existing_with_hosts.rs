//! Existing pool that lists hosts.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2807",
        name: "existing-with-hosts",
        severity: Severity::Error,
        summary: "a pool has both `existing` and `hosts`",
        checks: r"Whether a pool with `existing` also lists `hosts`.",
        reason: r"With `existing`, the nodes are labeled by hand and selected by a label selector, and gpuc does not change
them. With `hosts`, gpuc labels and taints the nodes. A pool cannot use both.",
        remedy: r"Remove `existing`, so that gpuc labels the hosts, or remove `hosts`.",
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
    nodes: {count: 1}
    existing: {selector: {rack: a}}
"#,
        correction: Correction::Replace(
            "hosts: [node-1]
    ",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let (Some(existing), Some(host)) = (&pool.settings.existing, pool.settings.hosts.first())
        else {
            continue;
        };
        let message = format!("pool `{}` has both `existing` and `hosts`", pool.name);
        report
            .diagnostic(&RULE.code, host.span, message)
            .label(existing.span, "this selector selects the nodes of the pool")
            .help("remove `hosts`, or remove `existing` so that gpuc labels the hosts")
            .emit();
    }
}
