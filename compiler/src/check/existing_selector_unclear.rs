//! The selector of an existing pool does not pick out its nodes.

use gpuc_schema::config::TextMap;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// The selector of an existing pool does not pick out its nodes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2009",
        name: "existing-selector-unclear",
        severity: Severity::Error,
        summary: "the selector of an existing pool does not pick out its nodes",
        explain: "### What it checks

Whether `existing.selector` has a label, and whether no node that one existing pool selects is
also another's: one selector equal to the other, or with more labels than it.

### Why it matters

gpuc finds the nodes of such a pool by these labels. Without one it would be all nodes of the
cluster; with two pools on one node, two device plugins run there.

### What to do

Write labels that the pool's nodes have and no others do, such as the one with which the cloud
names the node pool.
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
    existing: {selector: {gpu: l4}}
  - name: old
    machine: g5.xlarge
    nodes: {count: 1}
    existing: {selector: {gpu: l4, size: small}}
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
    existing: {selector: {gpu: l4}}
  - name: old
    machine: g5.xlarge
    nodes: {count: 1}
    existing: {selector: {gpu: a10g}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let existing = |pool: &Pool| Some((pool.name.clone(), pool.written.existing.clone()?));
    let pools: Vec<_> = cluster.pools.iter().filter_map(existing).collect();
    for (index, (name, pool)) in pools.iter().enumerate() {
        if pool.selector.is_empty() {
            let message = format!("nothing picks out the nodes of pool `{name}`");
            let draft = report.draft(&RULE.code, pool.span, message);
            draft
                .help("write a label that its nodes have and no others do")
                .emit();
            continue;
        }
        for (other_name, other) in &pools[..index] {
            if is_within(&pool.selector, &other.selector)
                || is_within(&other.selector, &pool.selector)
            {
                let message = format!("pools `{other_name}` and `{name}` select the same nodes");
                let draft = report.draft(&RULE.code, pool.span, message);
                let draft = draft.label(other.span, format!("the nodes of `{other_name}`"));
                draft
                    .help("write labels by which their nodes differ")
                    .emit();
            }
        }
    }
}

/// Whether every node that one selector picks out is picked out by the other too. An empty one is a finding already.
fn is_within(selector: &TextMap, other: &TextMap) -> bool {
    !other.is_empty()
        && other
            .iter()
            .all(|(key, value)| selector.get(key) == Some(value))
}
