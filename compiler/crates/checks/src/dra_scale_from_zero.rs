//! The Cluster Autoscaler cannot add the first node of a pool with `allocation: dra`.

use gpuc_schema::config::Autoscaler;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2113",
        name: "dra-scale-from-zero",
        severity: Severity::Error,
        summary: "the Cluster Autoscaler cannot add the first node of a pool with `allocation: dra`",
        checks: "Whether the minimum number of nodes of a pool with `allocation: dra` is above 0 if `autoscaler` is
`clusterAutoscaler`.",
        reason: "The Cluster Autoscaler learns the devices of a node from an existing node. It knows the devices of
an empty pool only on a few clouds, and on none of those where gpuc installs it
(kubernetes/autoscaler, `docs/dra_support.md`). Pods with claims would stay pending.",
        remedy: "Keep one node: `min: 1`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
autoscaler: clusterAutoscaler
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}}
"#,
        correction: Correction::Replace("{min: 0", "{min: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.autoscaler.value != Autoscaler::ClusterAutoscaler {
        return;
    }
    for pool in cluster.dra_pools().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.min == 0) else {
            continue;
        };
        let message = format!(
            "the Cluster Autoscaler cannot scale pool `{}` from zero",
            pool.name
        );
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .primary_label("it does not know the devices of the first node")
            .label(pool.allocation.span, "the GPUs are allocated through DRA")
            .label(cluster.autoscaler.span, "the autoscaler")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}
