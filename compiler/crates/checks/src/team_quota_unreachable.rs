//! A team's quota of CPU or memory exceeds the capacity of all pools.

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{QuotaResource, resource_limits};
use gpuc_model::{Cluster, NodeCapacity, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2215",
        name: "team-quota-unreachable",
        severity: Severity::Warning,
        summary: "a team's quota of CPU or memory exceeds the capacity of all pools",
        checks: "Whether `cpu` and `memory` of a team's `quota` and `namespaceQuotas` are at most what all pools
together can allocate to pods, at their maximum number of nodes. The check applies if gpuc creates
the cluster, or describes all of its hosts, and the sizes of all pools are known.",
        reason: "Such a quota limits nothing: one team can use the CPU and memory of all other teams. The usual
cause is a wrong unit or an extra zero.",
        remedy: "Lower the quota, or remove it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("cpu: 320", "cpu: 32"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // A cluster that exists may have pools that the file does not describe.
    if cluster.config.cloud.has_existing_cluster() {
        return;
    }
    let cpu = total_allocatable(cluster, |pool| cluster.node_capacity(pool).0);
    let memory = total_allocatable(cluster, |pool| cluster.node_capacity(pool).1);
    for team in &cluster.teams {
        for limit in resource_limits(cluster, team) {
            let capacity = match limit.resource {
                QuotaResource::Cpu => cpu,
                QuotaResource::Memory => memory,
                QuotaResource::Device(_) | QuotaResource::Pods | QuotaResource::Storage => continue,
            };
            let Some(capacity) = capacity.filter(|has| limit.amount > *has) else {
                continue;
            };
            let message = format!(
                "team `{}` has a quota of {}, which exceeds the capacity of all pools",
                team.name,
                limit.resource.format_amount(limit.amount)
            );
            let label = format!(
                "all pools together have {} at their maximum number of nodes",
                limit.resource.format_amount(capacity)
            );
            report
                .diagnostic(&RULE.code, limit.span, message)
                .primary_label(label)
                .help("lower the quota, or remove it")
                .emit();
        }
    }
}

/// The allocatable amount of all nodes, if it is known for every pool.
fn total_allocatable(
    cluster: &Cluster,
    allocatable: impl Fn(&Pool) -> Option<NodeCapacity>,
) -> Option<u64> {
    cluster.pools.iter().try_fold(0_u64, |total, pool| {
        let nodes = u64::from(pool.nodes.get()?.max);
        let amount = allocatable(pool)?.allocatable.saturating_mul(nodes);
        Some(total.saturating_add(amount))
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(messages_with_id(&yaml, "GPUC2215"), expected, "{quota}");
    }

    /// Its pools are not all in the file.
    #[test]
    fn existing_cluster_is_not_checked() {
        let yaml = |cluster: &str| {
            format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {cluster}}}}}
                nodePools: [{{name: a, machine: m7i.xlarge, nodes: {{count: 1}}}}]
                teams: [{{name: t, quota: {{cpu: 4000}}}}]
                "
            )
        };
        let found = messages_with_id(&yaml("{create: {}}"), "GPUC2215");
        assert_eq!(found.len(), 1);
        let existing = "{existing: {name: shared}}";
        assert_eq!(messages_with_id(&yaml(existing), "GPUC2215"), [""; 0]);
    }

    #[test]
    fn quota_beyond_all_nodes_is_found() {
        let size = "allocatable: {cpu: 16, memory: 32Gi}";
        check(size, "cpu: 40, memory: 128Gi", &[]);
        check(
            size,
            "cpu: 41, memory: 129Gi",
            &[
                "team `t` has a quota of 41 cores, which exceeds the capacity of all pools",
                "team `t` has a quota of 129 GiB of memory, which exceeds the capacity of all pools",
            ],
        );
        check("labels: {}", "cpu: 41, memory: 129Gi", &[]);
    }
}
