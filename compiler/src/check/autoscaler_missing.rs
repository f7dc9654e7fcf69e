//! A pool has a range of nodes and nobody to move within it.

use gpuc_schema::config::Autoscaler;

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool has a range of nodes and nobody to move within it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2013",
        name: "autoscaler-missing",
        severity: Severity::Error,
        summary: "a pool has a range of nodes and nobody to move within it",
        explain: "### What it checks

Whether there is an autoscaler when a pool's `min` and `max` differ. Pools made by hand are their
maker's business.

### Why it matters

A range alone adds no node. Pods would wait for nodes that never come, and quotas would count
GPUs that are never there.

### What to do

Name an autoscaler, or write a fixed number of nodes: `nodes: {count: 2}`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {min: 1, max: 3}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 3}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    // Hosts of the user's come and go with nobody's help: what is wrong with a range of them is said where they are.
    if cluster.autoscaler.value != Autoscaler::None || !facts.makes_machines {
        return;
    }
    let some = facts.autoscalers.iter();
    let some = some
        .filter(|autoscaler| **autoscaler != Autoscaler::None)
        .map(word)
        .next();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let message = format!("nothing adds nodes to pool `{}` or removes them", pool.name);
        let draft = report.draft(&RULE.code, nodes.max_span, message);
        let draft = draft.here(format!("never more than {}", nodes.min));
        let draft = draft.label(cluster.autoscaler.span, "there is no autoscaler");
        let count = format!("write `nodes: {{count: {}}}`", nodes.max);
        let help = match &some {
            Some(autoscaler) => format!("{count}, or `autoscaler: {autoscaler}` for the cluster"),
            None => count,
        };
        draft.help(help).emit();
    }
}
