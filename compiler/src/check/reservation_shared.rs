//! Pools that share a reservation cannot all have their most nodes.

use super::{Rule, reserved};
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Pools that share a reservation cannot all have their most nodes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2127",
        name: "reservation-shared",
        severity: Severity::Warning,
        summary: "pools that share a reservation cannot all have their most nodes",
        explain: "### What it checks

Whether pools with the same `id` in `capacity`, the same machine and the same zones may have more
machines together, with each at its most nodes, than the reservation or Capacity Block holds. That
they need more at their fewest is GPUC2126.

### Why it matters

An autoscaler asks for nodes for one pool that the other one holds, and jobs wait for them although
each pool alone has room. What teams are promised is counted at the most nodes of each pool, so that
the same machines are promised twice.

### What to do

Lower `max` until all pools fit, or correct `count` if more machines are reserved. If pools shall
take turns, write `allow: [reservation-shared]`, and promise teams no more than there is.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
  - name: serve
    machine: p5.48xlarge
    nodes: {min: 0, max: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: cpu
    machine: m7i.large
    nodes: {count: 1}
  - name: train
    machine: p5.48xlarge
    nodes: {min: 0, max: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
  - name: serve
    machine: p5.48xlarge
    nodes: {min: 0, max: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for shared in reserved::all(cluster) {
        let (fewest, most) = (shared.sum(|nodes| nodes.min), shared.sum(|nodes| nodes.max));
        let held = shared.count;
        let count = u64::from(held.value);
        let Some((pool, nodes)) = shared
            .pools
            .last()
            .filter(|_| fewest <= count && most > count)
        else {
            continue;
        };
        let message = format!(
            "reservation `{}` holds {}, and its pools may have {most}",
            shared.id,
            words::counted(held.value, "machine"),
        );
        let draft = report.draft(&RULE.code, nodes.max_span, message);
        let draft = draft
            .here(format!("so many beside {}", shared.others(pool)))
            .label(held.span, "so many machines");
        let help = "lower `max` of one of them, correct `count`, or allow it if the pools shall take turns";
        draft.help(help).emit();
    }
}
