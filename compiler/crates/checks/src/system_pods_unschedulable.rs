//! No pool of a new cluster accepts system pods.

use gpuc_schema::config::{Autoscaler, TaintEffect};

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool, PoolTaint, SetBy};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2047",
        name: "system-pods-unschedulable",
        severity: Severity::Warning,
        summary: "no pool of a new cluster accepts system pods",
        checks: "Whether a cluster that gpuc creates has a pool without taints that repel pods. `CriticalAddonsOnly`
does not count: system pods tolerate it. With `autoscaler: karpenter` this pool must always have
nodes.",
        reason: "CoreDNS, the metrics server and autoscalers do not tolerate custom taints. If every pool has one,
they never start, and DNS names in the cluster do not resolve. Karpenter runs in the cluster and
needs DNS. Until it runs, its own pools have no nodes on which CoreDNS could start.",
        remedy: "Add a pool without GPUs and taints, or remove the taints from a pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    dedicatedTo: research
"#,
        correction: Correction::Replace("name: gpu", "name: system
    machine: m7i.xlarge
    nodes: {count: 2}
  - name: gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.config.cloud.creates_cluster() {
        return;
    }
    let Some(first) = cluster.pools.first() else {
        return;
    };
    let karpenter = cluster.autoscaler.value == Autoscaler::Karpenter;
    // Karpenter's pools have no nodes at first: Karpenter itself must run in the cluster to create them.
    let (karpenter_pools, initial_pools): (Vec<_>, Vec<_>) = cluster
        .pools
        .iter()
        .partition(|pool| karpenter && pool.nodes.get().is_some_and(|nodes| nodes.min == 0));
    let taints: Vec<_> = initial_pools
        .iter()
        .copied()
        .filter_map(repelling_taint)
        .collect();
    let has_gpuc_taint = taints.iter().any(|taint| taint.set_by == SetBy::Gpuc);
    // A rule of the cloud reports pools whose only taints are set by the cloud.
    if taints.len() < initial_pools.len() || !has_gpuc_taint {
        return;
    }
    let message = if karpenter_pools.is_empty() {
        "every pool has a taint that system pods do not tolerate"
    } else {
        "every pool that has nodes before Karpenter runs has a taint that system pods do not tolerate"
    };
    let mut builder = report.diagnostic(&RULE.code, first.name.span, message);
    for pool in karpenter_pools {
        if let (None, Some(nodes)) = (repelling_taint(pool), pool.nodes.get()) {
            builder = builder.label(
                nodes.min_span,
                "this pool has no nodes before Karpenter runs",
            );
        }
    }
    for taint in taints {
        let label = match taint.set_by {
            SetBy::Gpuc => "this taint repels system pods",
            SetBy::Cloud => "the cloud sets a taint that repels system pods",
        };
        builder = builder.label(taint.span, label);
    }
    builder
        .help("add a pool without GPUs and taints, for CoreDNS and other system pods")
        .emit();
}

/// A taint of the pool that system pods do not tolerate.
fn repelling_taint(pool: &Pool) -> Option<&PoolTaint> {
    let mut taints = pool.taints.iter();
    taints.find(|taint| {
        taint.effect != TaintEffect::PreferNoSchedule && taint.key != "CriticalAddonsOnly"
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::messages_with_id;

    #[test]
    fn karpenter_pool_does_not_count() {
        let found = |autoscaler: &str, taints: &str| {
            let yaml = format!(
                r#"
                autoscaler: {autoscaler}
                cloud: {{aws: {{account: "123456789012", region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.large, nodes: {{count: 2}}, taints: [{taints}]}}
                  - {{name: batch, machine: m7i.large, nodes: {{min: 0, max: 4}}}}
                "#
            );
            messages_with_id(&yaml, "GPUC2047")
        };
        let taint = "{key: a, effect: NoSchedule}";
        let addons = "{key: CriticalAddonsOnly, effect: NoSchedule}";
        let message = "every pool that has nodes before Karpenter runs has a taint that system pods do not tolerate";
        assert_eq!(found("karpenter", taint), [message]);
        assert_eq!(found("karpenter", addons), [""; 0]);
        assert_eq!(found("clusterAutoscaler", taint), [""; 0]);
    }
}
