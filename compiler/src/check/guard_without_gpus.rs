//! The guard of pods has nothing to guard.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The guard of pods has nothing to guard.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2210",
        name: "guard-without-gpus",
        severity: Severity::Error,
        summary: "the guard of pods has nothing to guard",
        explain: "### What it checks

Whether a cluster with `admission` has a pool with GPUs.

### Why it matters

The policies hold pods against what the pools offer. Where no pool has GPUs, they would refuse whoever
asks for one, whatever offers it.

### What to do

Remove `admission`, or give the cluster a pool with GPUs.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
admission: {guard: enforce}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
admission: {guard: enforce}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.written.admission else {
        return;
    };
    let mut pools = cluster.pools.iter();
    if pools.any(|pool| pool.gpus.is_hole() || pool.has_gpus()) {
        return;
    }
    let message = "no pool has GPUs, and `admission` guards only those";
    let draft = report.draft(&RULE.code, admission.span, message.to_owned());
    draft
        .help("remove `admission`, or give the cluster a pool with GPUs")
        .emit();
}
