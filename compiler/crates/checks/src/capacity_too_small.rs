//! The maximum number of nodes of a pool exceeds the number of its reserved machines.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2040",
        name: "capacity-too-small",
        severity: Severity::Error,
        summary: "the maximum number of nodes of a pool exceeds the number of its reserved machines",
        checks: "Whether the maximum number of nodes of a pool is at most the `count` of its reservation or Capacity
Block.",
        reason: "The pool would wait for machines that the reservation does not have, or use machines at another
price.",
        remedy: "Lower `nodes`, or correct `count` if more machines are reserved.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p5.48xlarge
    nodes: {count: 4}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
"#,
        correction: Correction::Replace("count: 4", "count: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let reserved = match &pool.settings.capacity.value {
            Capacity::Reservation(reservation) => reservation.count,
            Capacity::CapacityBlock(block) => Some(block.count),
            Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => None,
        };
        let (Some(reserved), Some(nodes)) = (reserved, pool.nodes.get()) else {
            continue;
        };
        if nodes.max <= reserved.value {
            continue;
        }
        let message = format!(
            "pool `{}` can have {}, but only {} {} reserved",
            pool.name,
            phrases::pluralize(nodes.max, "node"),
            phrases::pluralize(reserved.value, "machine"),
            if reserved.value == 1 { "is" } else { "are" },
        );
        let help = format!("write {reserved} here, or correct `count` if more are reserved");
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .primary_label("the maximum number of nodes")
            .label(reserved.span, "the number of reserved machines")
            .help(help)
            .emit();
    }
}
