//! The cloud does not sell this kind of capacity.

use gpuc_schema::config::Capacity;

use super::Rule;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The cloud does not sell this kind of capacity.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2039",
        name: "capacity-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not sell this kind of capacity",
        explain: "### What it checks

Whether `capacity` is of a kind that the cloud has.

### Why it matters

Capacity Blocks are Amazon's alone, and machines of your own are not rented at all.

### What to do

Write a kind that the help lists, or leave `capacity` out.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
    capacity: {spot: {}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in &cluster.pools {
        let capacity = &pool.written.capacity;
        let kind = kind(capacity);
        // Nobody writes the usual kind where there is no choice.
        if facts.capacities.contains(&kind) || matches!(capacity.value, Capacity::OnDemand) {
            continue;
        }
        let message = format!("{} has no capacity of the kind `{kind}`", facts.name);
        let draft = report.draft(&RULE.code, capacity.span, message);
        let help = match facts.capacities {
            [] => "remove `capacity`".to_owned(),
            kinds => format!("it has {}", words::some(kinds, 4)),
        };
        draft.help(help).emit();
    }
}

/// The key of the file for a kind of capacity.
fn kind(capacity: &Capacity) -> &'static str {
    match capacity {
        Capacity::OnDemand => "onDemand",
        Capacity::Spot(_) => "spot",
        Capacity::Reservation(_) => "reservation",
        Capacity::CapacityBlock(_) => "capacityBlock",
    }
}
