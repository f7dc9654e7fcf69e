//! A pool without GPUs shares them.

use super::Rule;
use crate::cloud::shares;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool without GPUs shares them.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2020",
        name: "sharing-without-gpus",
        severity: Severity::Error,
        summary: "a pool without GPUs shares them",
        explain: "### What it checks

Whether a pool with `sharing` has GPUs.

### Why it matters

Nothing would come of the key. Most often the machine type is not the one that was meant.

### What to do

Correct the machine type, or remove `sharing`.
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
  - name: system
    machine: m7i.xlarge
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
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
  - name: system
    machine: m7i.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if !shares(&pool.written) || !matches!(pool.gpus.get(), Some(None)) {
            continue;
        }
        let message = format!("pool `{}` has no GPUs to share", pool.name);
        let draft = report.draft(&RULE.code, pool.written.sharing.span, message);
        let draft = match &pool.written.machine {
            Some(machine) => draft.label(machine.span, "this machine has no GPUs"),
            None => draft,
        };
        draft.help("remove `sharing`, or give the pool GPUs").emit();
    }
}
