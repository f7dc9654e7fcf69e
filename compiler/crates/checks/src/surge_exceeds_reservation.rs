//! An upgrade starts more nodes than machines are reserved.

use gpuc_schema::config::Capacity;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2104",
        name: "surge-exceeds-reservation",
        severity: Severity::Error,
        summary: "an upgrade starts more nodes than machines are reserved",
        checks: "Whether `upgrade.maxSurge` of a pool with reserved machines fits into the reservation: the pool's
maximum node count plus the surge nodes must be at most `count`. Without `count`, gpuc assumes that
every reserved machine is in use.",
        reason: "A surge upgrade starts a node of the new version before it stops an old one. If no reserved machine
is free, the new node never starts, and the upgrade waits until it times out.",
        remedy: "Remove `upgrade`: by default gpuc replaces one node at a time without a surge node. If the
reservation has spare machines, set its size as `count`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("1, maxUnavailable: 0", "0, maxUnavailable: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let upgrade = pool.settings.upgrade.as_ref();
        let Some(surge) = upgrade.and_then(|upgrade| upgrade.max_surge) else {
            continue;
        };
        let (span, count) = match &pool.settings.capacity.value {
            Capacity::Reservation(reservation) => (reservation.id.span, reservation.count),
            Capacity::CapacityBlock(block) => (block.id.span, Some(block.count)),
            Capacity::OnDemand | Capacity::Spot(_) => continue,
        };
        let Some(nodes) = pool.nodes.get().filter(|_| surge.value > 0) else {
            continue;
        };
        let required = nodes.max.saturating_add(surge.value);
        let (span, reserved) = match count {
            Some(count) if required <= count.value => continue,
            Some(count) => {
                let verb = if count.value == 1 { "is" } else { "are" };
                let machines = gpuc_syntax::diag::phrases::pluralize(count.value, "machine");
                (count.span, format!("{machines} {verb} reserved"))
            }
            None => (span, "the size of this reservation is not set".to_owned()),
        };
        let message = format!(
            "an upgrade of pool `{}` needs {required} machines",
            pool.name
        );
        report
            .diagnostic(&RULE.code, surge.span, message)
            .label(span, reserved)
            .help("set `upgrade: {maxSurge: 0, maxUnavailable: 1}`")
            .emit();
    }
}
