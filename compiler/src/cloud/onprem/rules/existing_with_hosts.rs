//! A pool is both made by hand and made of hosts.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool is both made by hand and made of hosts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2807",
        name: "existing-with-hosts",
        severity: Severity::Error,
        summary: "a pool has both `existing` and `hosts`",
        explain: r"### What it checks

Whether a pool with `existing` also lists `hosts`.

### Why it matters

`existing` says that the nodes were labelled by hand and are found by a selector; gpuc leaves them
as they are. `hosts` says that gpuc labels and taints these. Both cannot be.

### What to do

Remove `existing` to have gpuc label the hosts, or remove `hosts`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    existing: {selector: {rack: a}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    nodes: {count: 1}
    existing: {selector: {rack: a}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let (Some(existing), Some(host)) = (&pool.written.existing, pool.written.hosts.first())
        else {
            continue;
        };
        let message = format!("pool `{}` has both `existing` and `hosts`", pool.name);
        report
            .draft(&RULE.code, host.span, message)
            .label(existing.span, "its nodes are found by this selector")
            .help("remove `hosts`, or remove `existing` to have gpuc label the hosts")
            .emit();
    }
}
