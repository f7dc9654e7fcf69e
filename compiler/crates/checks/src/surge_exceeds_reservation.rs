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
        checks: "Whether the upgrades of a pool with reserved machines fit into the reservation: the pool's maximum node
count plus the nodes of `upgrade.maxSurge`, or twice that count with `upgrade.blueGreen`, must be at
most `count`. Without `count`, gpuc assumes that every reserved machine is in use.",
        reason: "A surge upgrade starts a node of the new version before it stops an old one, and a blue-green upgrade
starts all of them. If no reserved machine is free, the new node never starts, and the upgrade waits
until it times out.",
        remedy: "Remove `upgrade`: by default gpuc replaces one node at a time without a surge node. If the
reservation has spare machines, set its size as `count`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
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
        let (Some(upgrade), Some(nodes)) = (&pool.settings.upgrade, pool.nodes.get()) else {
            continue;
        };
        let (at, surge) = match (&upgrade.blue_green, upgrade.max_surge) {
            (Some(blue_green), _) => (blue_green.span, nodes.max),
            (None, Some(surge)) => (surge.span, surge.value),
            (None, None) => continue,
        };
        if surge == 0 {
            continue;
        }
        let (span, count) = match &pool.settings.capacity.value {
            Capacity::Reservation(reservation) => (reservation.id.span, reservation.count),
            Capacity::CapacityBlock(block) => (block.id.span, Some(block.count)),
            Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => continue,
        };
        let required = nodes.max.saturating_add(surge);
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
            .diagnostic(&RULE.code, at, message)
            .label(span, reserved)
            .help("set `upgrade: {maxSurge: 0, maxUnavailable: 1}`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    const FILE: &str = "
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
  - {name: gpu, machine: a2-highgpu-1g, nodes: {count: 2}, <rest>}
";

    #[test]
    fn blue_green_upgrade_needs_twice_the_machines() {
        for (rest, expected) in [
            (
                "capacity: {reservation: {id: held, count: 4}}, upgrade: {blueGreen: {}}",
                None,
            ),
            ("upgrade: {blueGreen: {}}", None),
            (
                "capacity: {reservation: {id: held, count: 3}}, upgrade: {blueGreen: {}}",
                Some(4),
            ),
            (
                "capacity: {reservation: {id: held}}, upgrade: {blueGreen: {}}",
                Some(4),
            ),
            (
                "capacity: {reservation: {id: held, count: 2}}, upgrade: {maxSurge: 1, maxUnavailable: 0}",
                Some(3),
            ),
        ] {
            let message = |machines| format!("an upgrade of pool `gpu` needs {machines} machines");
            let expected: Vec<_> = expected.map(message).into_iter().collect();
            let expected: Vec<_> = expected.iter().map(String::as_str).collect();
            check_in(FILE, "GPUC2104", rest, &expected);
        }
    }
}
