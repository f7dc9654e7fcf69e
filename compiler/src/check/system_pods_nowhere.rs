//! No pool of a new cluster lets the cluster's own pods in.

use gpuc_schema::config::TaintEffect;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool, PoolTaint, SetBy};

/// No pool of a new cluster lets the cluster's own pods in.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2047",
        name: "system-pods-nowhere",
        severity: Severity::Warning,
        summary: "no pool of a new cluster lets the cluster's own pods in",
        explain: "### What it checks

Whether a cluster that gpuc makes has a pool without taints that keep pods away.
`CriticalAddonsOnly` does not count: the cluster's own pods tolerate it.

### Why it matters

CoreDNS, metrics and autoscalers tolerate no taint of yours. Where every pool has one they never
start, and names inside the cluster are not resolved.

### What to do

Add a pool without GPUs and taints, or take the taints from one.
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
    dedicatedTo: research
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    dedicatedTo: research
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.written.cloud.creates_cluster() {
        return;
    }
    let Some(first) = cluster.pools.first() else {
        return;
    };
    let taints: Vec<_> = cluster.pools.iter().filter_map(keeps_away).collect();
    let by_user = taints.iter().any(|taint| taint.set_by == SetBy::Gpuc);
    // Where the cloud alone keeps them away, its own rule says what it needs.
    if taints.len() < cluster.pools.len() || !by_user {
        return;
    }
    let message = "every pool keeps the cluster's own pods away";
    let mut draft = report.draft(&RULE.code, first.name.span, message);
    for taint in taints {
        let who = match taint.set_by {
            SetBy::Gpuc => "by this taint",
            SetBy::Cloud => "by a taint that the cloud sets",
        };
        draft = draft.label(taint.span, who);
    }
    draft
        .help("add a pool without GPUs and taints, for CoreDNS and its like")
        .emit();
}

/// A taint of a pool that the cluster's own pods do not tolerate.
fn keeps_away(pool: &Pool) -> Option<&PoolTaint> {
    let mut taints = pool.taints.iter();
    taints.find(|taint| {
        taint.effect != TaintEffect::PreferNoSchedule && taint.key != "CriticalAddonsOnly"
    })
}
