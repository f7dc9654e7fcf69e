//! A team's quota of CPU or memory is more than all pools have.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool, Room};
use crate::placement::{What, limits};

/// A team's quota of CPU or memory is more than all pools have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2215",
        name: "team-quota-unreachable",
        severity: Severity::Warning,
        summary: "a team's quota of CPU or memory is more than all pools have",
        explain: "### What it checks

`cpu` and `memory` of a team's `quota` and `namespaceQuotas` against what all pools have for pods
together, each with its most nodes, where the sizes of all pools are known.

### Why it matters

Such a quota keeps nobody from anything: one team takes the CPU of everybody. Most of the time it is a
slip of the pen, in a unit or a zero.

### What to do

Write what the team may have, or leave the quota out.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
    allocatable: {cpu: 32, memory: 128Gi}
teams:
  - {name: research, quota: {cpu: 320}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
    allocatable: {cpu: 32, memory: 128Gi}
teams:
  - {name: research, quota: {cpu: 32}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let cpu = all(cluster, |pool| cluster.room(pool).0);
    let memory = all(cluster, |pool| cluster.room(pool).1);
    for team in &cluster.teams {
        for limit in limits(cluster, team) {
            let has = match limit.what {
                What::Cpu => cpu,
                What::Memory => memory,
                What::Device(_) | What::Pods | What::Storage => continue,
            };
            let Some(has) = has.filter(|has| limit.has > *has) else {
                continue;
            };
            let message = format!(
                "team `{}` never has {}",
                team.name,
                limit.what.words(limit.has)
            );
            let here = format!(
                "all pools have {} for pods at their most nodes",
                limit.what.words(has)
            );
            let draft = report.draft(&RULE.code, limit.span, message).here(here);
            draft
                .help("write what the team may have, or leave it out")
                .emit();
        }
    }
}

/// What all nodes have for pods, where that is known of every pool.
fn all(cluster: &Cluster, room: impl Fn(&Pool) -> Option<Room>) -> Option<u64> {
    let rooms = cluster.pools.iter().map(|pool| {
        let most = u64::from(pool.nodes.get()?.max);
        Some(room(pool)?.left.saturating_mul(most))
    });
    let rooms: Option<Vec<_>> = rooms.collect();
    Some(rooms?.into_iter().fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(pool: &str, quota: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: a, hosts: [a, b], nodes: {{count: 2}}, {pool}}}
              - {{name: b, hosts: [c], nodes: {{count: 1}}, allocatable: {{cpu: 8, memory: 64Gi}}}}
            teams: [{{name: t, quota: {{{quota}}}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2215"), expected, "{quota}");
    }

    #[test]
    fn a_team_may_have_what_all_nodes_have_together() {
        let size = "allocatable: {cpu: 16, memory: 32Gi}";
        check(size, "cpu: 40, memory: 128Gi", &[]);
        check(
            size,
            "cpu: 41, memory: 129Gi",
            &[
                "team `t` never has 41 cores",
                "team `t` never has 129 GiB of memory",
            ],
        );
        check("labels: {}", "cpu: 41, memory: 129Gi", &[]);
    }
}
