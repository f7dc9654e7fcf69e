//! A pool made by hand has keys that nobody would apply.

use gpuc_schema::Span;
use gpuc_schema::config::NodePool;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool made by hand has keys that nobody would apply.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2042",
        name: "existing-pool-key-unused",
        severity: Severity::Error,
        summary: "a pool made by hand has keys that nobody would apply",
        explain: "### What it checks

Whether a pool with `existing` has keys that only mean something when gpuc makes the pool:
`labels`, `tags`, `subnets`, `diskGiB`, `maxPods`, `network`, `upgrade`.

### Why it matters

gpuc emits no cloud commands for such a pool. The keys would be accepted and ignored.

### What to do

Remove them. What the pool's nodes really have belongs into `taints`, `sharing`, `os` and
`existing.selector`.
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
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
    labels: {team: research}
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
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(existing) = &pool.written.existing else {
            continue;
        };
        for (key, span) in unused(&pool.written) {
            let message = format!("`{key}` does nothing in a pool that is there already");
            let draft = report.draft(&RULE.code, span, message);
            let draft = draft.label(existing.span, "gpuc does not make this pool");
            draft.help(format!("remove `{key}`")).emit();
        }
    }
}

/// The keys that were written and mean nothing, each with a place in it.
fn unused(pool: &NodePool) -> Vec<(&'static str, Span)> {
    let disk = Some(pool.disk_gib.span).filter(|span| span.is_written());
    let keys = [
        ("labels", pool.labels.keys().next().map(|key| key.span)),
        ("tags", pool.tags.keys().next().map(|key| key.span)),
        ("subnets", pool.subnets.first().map(|subnet| subnet.span)),
        ("diskGiB", disk),
        ("maxPods", pool.max_pods.map(|pods| pods.span)),
        ("network", pool.network.efa.as_ref().map(|efa| efa.span)),
        (
            "network",
            pool.network
                .placement
                .as_ref()
                .map(|placement| placement.span),
        ),
        ("upgrade", pool.upgrade.as_ref().map(|upgrade| upgrade.span)),
    ];
    keys.into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .collect()
}
