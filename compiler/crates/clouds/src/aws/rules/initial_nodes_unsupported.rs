//! An initial number of nodes where EKS does not create the nodes with the pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{created_pools, karpenter};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2580",
        name: "initial-nodes-unsupported",
        severity: Severity::Error,
        summary: "a pool does not start with nodes",
        checks: "Whether a pool that Karpenter provisions, or a pool with a capacity block, has `nodes.initial`.",
        reason: "Karpenter creates a node for a pending pod: a new pool has no nodes. A capacity block has no machines
before it starts; then the node group gets its minimum number of nodes.",
        remedy: "Remove `initial`. For a capacity block, set `min`. Put nodes that Karpenter's pods must not wait for
into a pool with a `count`, which is a managed node group.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4, initial: 2}}
"#,
        correction: Correction::Replace(", initial: 2", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(initial) = pool.nodes.get().and_then(|nodes| nodes.initial) else {
            continue;
        };
        let (subject, reason, span) = if karpenter::provisions(cluster, pool) {
            let reason = "Karpenter creates nodes when pods are pending";
            ("Karpenter", reason, cluster.autoscaler.span)
        } else if let Some(period) = pool.capacity_period() {
            let reason = "before its start, the node group has no nodes";
            ("a capacity block", reason, period.start_span)
        } else {
            continue;
        };
        let message = format!(
            "{subject} does not support `initial` of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, initial.span, message)
            .label(span, reason)
            .help("remove `initial`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::messages_with_id;

    #[test]
    fn capacity_block_has_no_initial_nodes() {
        let block = "{capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: '2096-12-01T11:30:00Z', \
                     end: '2096-12-15T11:30:00Z'}}";
        let found = |capacity: &str| {
            let pool = format!(
                "nodePools: [{{name: a, machine: p5.48xlarge, zones: [us-east-1a], \
                 nodes: {{min: 0, max: 4, initial: 1}}, capacity: {capacity}}}]"
            );
            messages_with_id(&pool, "GPUC2580")
        };
        assert_eq!(
            found(block),
            ["a capacity block does not support `initial` of pool `a`"]
        );
        assert_eq!(found("onDemand"), [""; 0]);
    }
}
