//! More nodes in an upgrade than machines are reserved.

use gpuc_schema::config::Capacity;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// More nodes in an upgrade than machines are reserved.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2104",
        name: "reserved-surge",
        severity: Severity::Error,
        summary: "an upgrade starts more nodes than machines are reserved",
        explain: "### What it checks

Whether `upgrade.maxSurge` of a pool with reserved machines fits into the reservation: the most
nodes of the pool and those beside them together are at most its `count`. Without a `count`, gpuc
takes it that every machine is in use.

### Why it matters

A node of the new version is started before an old one ends. Where no machine is left it never
starts, and the upgrade waits until it gives up.

### What to do

Remove `upgrade`: gpuc then asks for no node more and one less. Or write how many machines the
reservation holds as its `count`, where there are some to spare.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: e2-standard-4
    nodes: {count: 1}
  - name: gpu
    machine: a2-highgpu-1g
    nodes: {count: 2}
    capacity: {reservation: {id: held, count: 2}}
    upgrade: {maxSurge: 1, maxUnavailable: 0}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: e2-standard-4
    nodes: {count: 1}
  - name: gpu
    machine: a2-highgpu-1g
    nodes: {count: 2}
    capacity: {reservation: {id: held, count: 2}}
    upgrade: {maxSurge: 0, maxUnavailable: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let upgrade = pool.written.upgrade.as_ref();
        let Some(surge) = upgrade.and_then(|upgrade| upgrade.max_surge) else {
            continue;
        };
        let (span, count) = match &pool.written.capacity.value {
            Capacity::Reservation(reservation) => (reservation.id.span, reservation.count),
            Capacity::CapacityBlock(block) => (block.id.span, Some(block.count)),
            Capacity::OnDemand | Capacity::Spot(_) => continue,
        };
        let Some(nodes) = pool.nodes.get().filter(|_| surge.value > 0) else {
            continue;
        };
        let together = nodes.max.saturating_add(surge.value);
        let (span, held) = match count {
            Some(count) if together <= count.value => continue,
            Some(count) => (count.span, format!("{} are reserved", count.value)),
            None => (span, "how many are reserved is not written".to_owned()),
        };
        let message = format!(
            "an upgrade of pool `{}` needs {together} machines",
            pool.name
        );
        report
            .draft(&RULE.code, surge.span, message)
            .label(span, held)
            .help("write `upgrade: {maxSurge: 0, maxUnavailable: 1}`")
            .emit();
    }
}
