//! A pool has another number of nodes than hosts.

use crate::check::Rule;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool has another number of nodes than hosts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2804",
        name: "nodes-not-hosts",
        severity: Severity::Error,
        summary: "a pool's `nodes` is not the number of its hosts",
        explain: r"### What it checks

Whether `nodes` says as many as `hosts` lists.

### Why it matters

Quotas, totals and what `verify.sh` waits for follow from `nodes`. With another number than there
are hosts, they speak of nodes that do not exist, or leave some out.

### What to do

Write the number of hosts, or correct the list.
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
    hosts: [node-1, node-2]
    nodes: {count: 1}
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let hosts = &pool.written.hosts;
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let is_asked = !pool.is_existing() && nodes.is_fixed();
        // A pool that names none has been told so.
        let (Some(first), true) = (hosts.first(), is_asked) else {
            continue;
        };
        let count = hosts.len();
        if usize::try_from(nodes.min) == Ok(count) {
            continue;
        }
        let message = format!(
            "pool `{}` has {}, but {}",
            pool.name,
            words::counted(nodes.min, "node"),
            words::counted(count, "host")
        );
        let draft = report
            .draft(&RULE.code, nodes.min_span, message)
            .label(first.span, "the hosts are listed here")
            .help(format!(
                "write `nodes: {{count: {count}}}`, or correct `hosts`"
            ));
        draft.emit();
    }
}
