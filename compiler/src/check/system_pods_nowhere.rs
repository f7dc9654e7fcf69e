//! No pool of a new cluster lets the cluster's own pods in.

use gpuc_schema::config::{Autoscaler, TaintEffect};

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
`CriticalAddonsOnly` does not count: the cluster's own pods tolerate it. With `autoscaler: karpenter` it
must be one that always has nodes.

### Why it matters

CoreDNS, metrics and autoscalers tolerate no taint of yours. Where every pool has one they never
start, and names inside the cluster are not resolved. Karpenter runs inside the cluster and needs that:
until it runs, its own pools have no node on which what resolves names could start.

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
    let karpenter = cluster.autoscaler.value == Autoscaler::Karpenter;
    // A pool of Karpenter's is no place to start on: what makes its nodes runs in the cluster itself.
    let (late, there): (Vec<_>, Vec<_>) = cluster
        .pools
        .iter()
        .partition(|pool| karpenter && pool.nodes.get().is_some_and(|nodes| nodes.min == 0));
    let taints: Vec<_> = there.iter().copied().filter_map(keeps_away).collect();
    let by_user = taints.iter().any(|taint| taint.set_by == SetBy::Gpuc);
    // Where the cloud alone keeps them away, its own rule says what it needs.
    if taints.len() < there.len() || !by_user {
        return;
    }
    let message = if late.is_empty() {
        "every pool keeps the cluster's own pods away"
    } else {
        "every pool that has nodes from the start keeps the cluster's own pods away"
    };
    let mut draft = report.draft(&RULE.code, first.name.span, message);
    for pool in late {
        if let (None, Some(nodes)) = (keeps_away(pool), pool.nodes.get()) {
            draft = draft.label(nodes.min_span, "no node before Karpenter runs");
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::testing::messages;

    #[test]
    fn a_pool_of_karpenters_is_no_place_to_start() {
        let said = |autoscaler: &str, taints: &str| {
            let yaml = format!(
                r#"
                autoscaler: {autoscaler}
                cloud: {{aws: {{account: "123456789012", region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.large, nodes: {{count: 2}}, taints: [{taints}]}}
                  - {{name: batch, machine: m7i.large, nodes: {{min: 0, max: 4}}}}
                "#
            );
            messages(&yaml, "GPUC2047")
        };
        let taint = "{key: a, effect: NoSchedule}";
        let addons = "{key: CriticalAddonsOnly, effect: NoSchedule}";
        let found = "every pool that has nodes from the start keeps the cluster's own pods away";
        assert_eq!(said("karpenter", taint), [found]);
        assert_eq!(said("karpenter", addons), [""; 0]);
        assert_eq!(said("clusterAutoscaler", taint), [""; 0]);
    }
}
