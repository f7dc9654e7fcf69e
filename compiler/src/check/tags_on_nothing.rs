//! Tags for what gpuc creates, where it creates nothing.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// Tags for what gpuc creates, where it creates nothing.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2053",
        name: "tags-on-nothing",
        severity: Severity::Error,
        summary: "there are tags for what gpuc creates, and it creates nothing",
        explain: r"### What it checks

Whether gpuc makes the cluster or any pool where the section of the cloud has `tags` or
`resourceLabels`.

### Why it matters

They go onto what gpuc creates. Where everything is there already the key would be accepted and
ignored.

### What to do

Remove the key, and tag what is there by other means.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}, tags: {team: research}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
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
    let section = &cluster.written.cloud;
    let Some((word, tags)) = section.tags() else {
        return;
    };
    let makes_nothing = !section.creates_cluster() && cluster.pools.iter().all(Pool::is_existing);
    let Some(first) = tags.keys().next().filter(|_| makes_nothing) else {
        return;
    };
    let message = format!("`{word}` are for what gpuc creates, and it creates nothing here");
    report
        .draft(&RULE.code, first.span, message)
        .help(format!("remove `{word}`"))
        .emit();
}
