//! A minimum number of nodes, which Karpenter does not support.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::karpenter;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2543",
        name: "karpenter-min-nodes-unsupported",
        severity: Severity::Error,
        summary: "Karpenter does not support a minimum number of nodes",
        checks: "Whether a pool that Karpenter provisions, one without a fixed number of nodes, has `min: 0`.",
        reason: "Karpenter creates a node for a pending pod, and deletes it when it is empty. It has no minimum number
of nodes: with `min: 1`, the pool can still have no nodes, and the first pod waits for a new node.",
        remedy: "Set `min: 0`. Put nodes that must always run into a pool with a `count`, which is a managed node
group.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 1, max: 4}}
"#,
        correction: Correction::Replace("{min: 1", "{min: 0"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::provisioned_pools(cluster) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min > 0) else {
            continue;
        };
        let message = format!("Karpenter does not support `min` of pool `{}`", pool.name);
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .primary_label("Karpenter deletes empty nodes, down to zero")
            .label(cluster.autoscaler.span, "the autoscaler is set here")
            .help("set `min: 0`, and put nodes that must always run into a pool with a `count`")
            .replace(nodes.min_span, "0")
            .emit();
    }
}
