//! A pool larger than its reservation.

use gpuc_schema::config::Capacity;

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool larger than its reservation.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2525",
        name: "reservation-too-small",
        severity: Severity::Error,
        summary: "a pool may grow beyond its reservation",
        explain: r#"### What it checks

Whether a reservation or capacity block holds as many machines as the pool has at most, where
the file says how many it holds.

### Why it matters

A node group that is bound to a reservation starts no machine outside of it. An autoscaler would
try again and again.

### What to do

Lower `max` to the reservation's count, or enlarge the reservation.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {count: 4}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, zones: [us-east-1a], nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let count = match &pool.written.capacity.value {
            Capacity::Reservation(reservation) => reservation.count,
            Capacity::CapacityBlock(block) => Some(block.count),
            Capacity::OnDemand | Capacity::Spot(_) => None,
        };
        if let Some(count) = count.filter(|count| count.value < nodes.max) {
            let message = format!(
                "the pool may have {} nodes, the reservation holds {count}",
                nodes.max
            );
            report
                .draft(&RULE.code, nodes.max_span, message)
                .label(count.span, "the reservation holds this many")
                .help(format!("write {count} at most"))
                .emit();
        }
    }
}
