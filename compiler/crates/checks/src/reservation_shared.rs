//! Pools that share a reservation cannot all reach their maximum node count.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::shared_reservations;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2127",
        name: "reservation-shared",
        severity: Severity::Warning,
        summary: "pools that share a reservation cannot all reach their maximum node count",
        checks: "Whether a reservation or Capacity Block has enough machines for the maximum node counts of the pools
that share it: pools with the same `id` in `capacity`, the same machine type and the same zones.
GPUC2126 reports pools that exceed it at their minimum node counts.",
        reason: "An autoscaler requests nodes for one pool that another pool occupies. Jobs wait for them although
each pool alone may still grow. Quotas assume the maximum node count of each pool, so that the same
machines are guaranteed twice.",
        remedy: "Lower `max` until all pools fit, or correct `count` if more machines are reserved. If the pools take
turns, set `allow: [reservation-shared]`, and guarantee teams no more than the reservation contains.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: cpu
    machine: m7i.large
    nodes: {count: 1}
  - name: train
    machine: p5.48xlarge
    nodes: {min: 0, max: 4}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
  - name: serve
    machine: p5.48xlarge
    nodes: {min: 0, max: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
"#,
        correction: Correction::Replace(" max: 4", " max: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for shared in shared_reservations::find_shared_reservations(cluster) {
        let (min, max) = (
            shared.sum_nodes(|nodes| nodes.min),
            shared.sum_nodes(|nodes| nodes.max),
        );
        let size = shared.count;
        let count = u64::from(size.value);
        let Some((pool, nodes)) = shared.pools.last().filter(|_| min <= count && max > count)
        else {
            continue;
        };
        let message = format!(
            "reservation `{}` contains {}, but its pools may grow to {max}",
            shared.id,
            phrases::pluralize(size.value, "machine"),
        );
        let builder = report.diagnostic(&RULE.code, nodes.max_span, message);
        let builder = builder
            .primary_label(format!(
                "in addition to the nodes of {}",
                shared.other_pool_names(pool)
            ))
            .label(size.span, "the size of the reservation");
        let help =
            "lower `max` of one of the pools, correct `count`, or allow it if the pools take turns";
        builder.help(help).emit();
    }
}
