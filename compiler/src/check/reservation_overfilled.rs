//! Pools that share a reservation need more machines than it holds.

use super::{Rule, reserved};
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Pools that share a reservation need more machines than it holds.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2126",
        name: "reservation-overfilled",
        severity: Severity::Error,
        summary: "pools that share a reservation need more machines than it holds",
        explain: "### What it checks

Whether pools with the same `id` in `capacity`, the same machine and the same zones need no more
machines together, with each at its fewest nodes, than the reservation or Capacity Block holds. It
holds what `count` says; where pools say different numbers, the largest.

### Why it matters

Each pool alone fits, so nothing stops it. The pool that asks last waits for machines that the
reservation does not have: its nodes never come, and neither do the jobs that need them.

### What to do

Lower `nodes` of one of the pools, give one of them another reservation, or correct `count` if more
machines are reserved. It is what the whole reservation holds, not the part of a pool.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
  - name: serve
    machine: p5.48xlarge
    nodes: {count: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: cpu
    machine: m7i.large
    nodes: {count: 1}
  - name: train
    machine: p5.48xlarge
    nodes: {count: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
  - name: serve
    machine: p5.48xlarge
    nodes: {count: 2}
    zones: [us-east-1a]
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for shared in reserved::all(cluster) {
        let needed = shared.sum(|nodes| nodes.min);
        let held = shared.count;
        let last = shared.pools.iter().rfind(|(_, nodes)| nodes.min > 0);
        let Some((pool, nodes)) = last.filter(|_| needed > u64::from(held.value)) else {
            continue;
        };
        let message = format!(
            "reservation `{}` holds {}, and its pools need {needed}",
            shared.id,
            words::counted(held.value, "machine"),
        );
        let draft = report.draft(&RULE.code, nodes.min_span, message);
        let draft = draft
            .here(format!("so many beside {}", shared.others(pool)))
            .label(held.span, "so many machines");
        let help = "lower `nodes` of one of them, or correct `count`, which is what the whole reservation holds";
        draft.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    const SERVE: &str = "  - {name: serve, machine: p5.48xlarge, nodes: {count: 2}, zones: [us-east-1a], \
                         capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 3}}}\n";

    fn found(second: &str) -> Vec<String> {
        let head = "cloud: {aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}\n\
                    autoscaler: clusterAutoscaler\nnodePools:\n";
        let first = SERVE.replace("name: serve", "name: train");
        messages(&format!("{head}{first}{second}"), "GPUC2126")
    }

    /// Each size of machine and each zone has a reservation of its own behind one name; `count` is the largest said.
    #[test]
    fn only_pools_of_the_same_machines_share() {
        assert_eq!(
            found(SERVE),
            ["reservation `cr-0123456789abcdef0` holds 3 machines, and its pools need 4"]
        );
        for (from, to) in [
            ("abcdef0", "abcdef1"),
            ("p5.48xlarge", "p5e.48xlarge"),
            ("us-east-1a", "us-east-1b"),
            ("count: 3}", "count: 4}"),
            ("nodes: {count: 2}", "nodes: {min: 0, max: 2}"),
        ] {
            let other = SERVE.replace(from, to);
            assert!(found(&other).is_empty(), "{to}: {:?}", found(&other));
        }
    }
}
