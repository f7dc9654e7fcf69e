//! Two pools have one name.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Two pools have one name.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2003",
        name: "pool-name-duplicate",
        severity: Severity::Error,
        summary: "two pools have one name",
        explain: "### What it checks

Whether each pool has a name of its own.

### Why it matters

A pool's name is what everything else calls it by: the cloud, the node label, quotas, workloads.

### What to do

Rename one of them.
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
  - name: gpu
    machine: g6.2xlarge
    nodes: {count: 1}
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
  - name: large
    machine: g6.2xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let name = &pool.name;
        let first = cluster.pools[..pool.index]
            .iter()
            .find(|other| other.name == *name);
        if let Some(first) = first {
            let message = format!("two pools are called `{name}`");
            let draft = report.draft(&RULE.code, name.span, message);
            let draft = draft.label(first.name.span, "the first one");
            draft.help("rename one of them").emit();
        }
    }
}
