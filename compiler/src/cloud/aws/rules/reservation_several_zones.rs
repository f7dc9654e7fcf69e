//! Reserved machines in several zones.

use gpuc_schema::config::Capacity;

use super::{made_pools, other_than_one_zone};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Reserved machines in several zones.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2524",
        name: "reservation-several-zones",
        severity: Severity::Error,
        summary: "a pool with a reservation is not in one zone",
        explain: "### What it checks

Whether a pool with a reservation or a capacity block is in exactly one zone or subnet.

### Why it matters

A reservation is of machines in one zone. In the others the node group would try to start
machines that are not reserved, and fail.

### What to do

Name the reservation's zone in `zones`: `aws ec2 describe-capacity-reservations` shows it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2}}}
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
        // With EFA the same is wanted for another reason, and said there.
        if pool.written.network.efa.is_some() {
            continue;
        }
        let id = match &pool.written.capacity.value {
            Capacity::Reservation(reservation) => &reservation.id,
            Capacity::CapacityBlock(block) => &block.id,
            Capacity::OnDemand | Capacity::Spot(_) => continue,
        };
        if let Some(zones) = other_than_one_zone(pool) {
            report
                .draft(
                    &RULE.code,
                    id.span,
                    format!("a reservation is in one zone, the pool in {zones}"),
                )
                .help("name the reservation's zone in `zones`, or its subnet in `subnets`")
                .emit();
        }
    }
}
