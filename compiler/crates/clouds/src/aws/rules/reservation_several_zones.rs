//! A pool with reserved machines that is not in exactly one zone.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{created_pools, describe_unless_one_zone};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2524",
        name: "reservation-several-zones",
        severity: Severity::Error,
        summary: "a pool with a reservation is not in exactly one zone",
        checks: "Whether a pool with a reservation or a capacity block is in exactly one zone or subnet.",
        reason: "A reservation covers machines in one zone. In other zones, the node group tries to start machines
that are not reserved, and fails.",
        remedy: "Set `zones` to the zone of the reservation: `aws ec2 describe-capacity-reservations` shows it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}}
"#,
        correction: Correction::Replace(" nodes:", " zones: [us-east-1a], nodes:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        // Another rule requires one zone for EFA and reports it.
        if pool.settings.network.efa.is_some() {
            continue;
        }
        let id = match &pool.settings.capacity.value {
            Capacity::Reservation(reservation) => &reservation.id,
            Capacity::CapacityBlock(block) => &block.id,
            Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => continue,
        };
        if let Some(zones) = describe_unless_one_zone(pool) {
            report
                .diagnostic(
                    &RULE.code,
                    id.span,
                    format!("a reservation is in one zone; the pool is in {zones}"),
                )
                .help("set the reservation's zone in `zones`, or its subnet in `subnets`")
                .emit();
        }
    }
}
