//! Compact placement that nobody makes.

use gpuc_schema::config::{Capacity, Placement};

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Compact placement that nobody makes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2522",
        name: "placement-compact-alone",
        severity: Severity::Error,
        summary: "compact placement without EFA, or with a reservation",
        explain: "### What it checks

Whether a pool with `placement: compact` has EFA and no reservation.

### Why it matters

eksctl makes a placement group for a node group with EFA, and only when it has no reservation:
reserved machines stand where they stand. In every other case nothing would place the nodes.

### What to do

Make a cluster placement group and write its name, `placement: {group: …}`; or add `efa`; or
remove `placement`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.8xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {placement: compact}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.8xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {placement: compact, efa: {}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let network = &pool.written.network;
        let Some(placement) = &network.placement else {
            continue;
        };
        if !matches!(placement.value, Placement::Compact) {
            continue;
        }
        let capacity = &pool.written.capacity;
        let reserved = matches!(
            capacity.value,
            Capacity::Reservation(_) | Capacity::CapacityBlock(_)
        );
        if reserved {
            report
                .draft(
                    &RULE.code,
                    placement.span,
                    "eksctl makes no placement group for reserved machines",
                )
                .label(capacity.span, "they stand where they were reserved")
                .help("remove `placement`, or write the reservation's group: `{group: …}`")
                .emit();
        } else if network.efa.is_none() {
            report
                .draft(
                    &RULE.code,
                    placement.span,
                    "eksctl makes a placement group only with EFA",
                )
                .help("add `efa: {}`, or make a cluster placement group and write `{group: …}`")
                .emit();
        }
    }
}
