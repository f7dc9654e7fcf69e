//! Pools that share a reservation need more machines than it contains.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::shared_reservations;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2126",
        name: "reservation-exceeded",
        severity: Severity::Error,
        summary: "pools that share a reservation need more machines than it contains",
        checks: "Whether a reservation or Capacity Block has enough machines for the minimum node counts of the pools
that share it: pools with the same `id` in `capacity`, the same machine type and the same zones. The
reservation contains `count` machines; if pools set different numbers, the largest applies.",
        reason: "Each pool alone fits, so that no other check reports it. The last pool waits for machines that the
reservation does not have. Its nodes never start, and the jobs that need them stay pending.",
        remedy: "Lower `nodes` of one of the pools, use another reservation for one of them, or correct `count` if
more machines are reserved. `count` is the size of the whole reservation, not the part of one pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: cpu
    machine: m7i.large
    nodes: {count: 1}
  - name: train
    machine: p5.48xlarge
    nodes: {count: 4}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
  - name: serve
    machine: p5.48xlarge
    nodes: {count: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
"#,
        correction: Correction::Replace("{count: 4", "{count: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for shared in shared_reservations::find_shared_reservations(cluster) {
        let required = shared.sum_nodes(|nodes| nodes.min);
        let count = shared.count;
        let last = shared.pools.iter().rfind(|(_, nodes)| nodes.min > 0);
        let Some((pool, nodes)) = last.filter(|_| required > u64::from(count.value)) else {
            continue;
        };
        let message = format!(
            "reservation `{}` contains {}, but its pools need {required}",
            shared.id,
            phrases::pluralize(count.value, "machine"),
        );
        let help = "lower `nodes` of one of the pools, or correct `count`, the size of the whole reservation";
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .primary_label(format!(
                "in addition to the nodes of {}",
                shared.other_pool_names(pool)
            ))
            .label(count.span, "the size of the reservation")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    const SERVE_POOL: &str = "  - {name: serve, machine: p5.48xlarge, nodes: {count: 2}, zones: [us-east-1a], \
                         capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 3, start: '2096-12-01T11:30:00Z', end: '2096-12-15T11:30:00Z'}}}\n";

    fn overfilled_messages(second: &str) -> Vec<String> {
        let head = "cloud: {aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}\n\
                    autoscaler: clusterAutoscaler\nnodePools:\n";
        let first = SERVE_POOL.replace("name: serve", "name: train");
        messages_with_id(&format!("{head}{first}{second}"), "GPUC2126")
    }

    /// One name refers to a separate reservation for each machine type and zone. The largest `count` applies.
    #[test]
    fn pools_share_by_id_machine_type_and_zone() {
        assert_eq!(
            overfilled_messages(SERVE_POOL),
            ["reservation `cr-0123456789abcdef0` contains 3 machines, but its pools need 4"]
        );
        for (from, to) in [
            ("abcdef0", "abcdef1"),
            ("p5.48xlarge", "p5e.48xlarge"),
            ("us-east-1a", "us-east-1b"),
            ("count: 3,", "count: 4,"),
            ("nodes: {count: 2}", "nodes: {min: 0, max: 2}"),
        ] {
            let other = SERVE_POOL.replace(from, to);
            assert!(
                overfilled_messages(&other).is_empty(),
                "{to}: {:?}",
                overfilled_messages(&other)
            );
        }
    }
}
