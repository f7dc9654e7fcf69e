//! A team's default container requests do not fit on any node.

use gpuc_model::check::Rule;
use gpuc_model::scheduling::QuotaResource;
use gpuc_model::{Amounts, Cluster, Pool, Quantity};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2214",
        name: "team-default-unschedulable",
        severity: Severity::Error,
        summary: "a team's default container requests do not fit on any node",
        checks: "Whether the CPU and memory in a team's `limits.defaultRequest` fit on a node of at least one pool.
The check applies if the sizes of all pools are known.",
        reason: "Kubernetes adds the defaults to every container that sets no requests. Such a pod would not fit on
any node, and would stay pending indefinitely.",
        remedy: "Lower `defaultRequest` to the needs of a container that sets no requests.",
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
  - {name: research, limits: {defaultRequest: {cpu: 33}}}
"#,
        correction: Correction::Replace("cpu: 33", "cpu: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let Amounts { cpu, memory } = &team.default_request;
        let allocatable_cpu = |pool: &Pool| {
            cluster
                .node_capacity(pool)
                .0
                .map(|capacity| capacity.allocatable)
        };
        let allocatable_memory = |pool: &Pool| {
            cluster
                .node_capacity(pool)
                .1
                .map(|capacity| capacity.allocatable)
        };
        let default = |resource, quantity, unit| DefaultRequest {
            team: &team.name,
            resource,
            quantity,
            unit,
        };
        if let Some(cpu) = cpu {
            let default = default(QuotaResource::Cpu, cpu, 1);
            check_resource(cluster, &default, allocatable_cpu, report);
        }
        if let Some(memory) = memory {
            let default = default(QuotaResource::Memory, memory, 1000);
            check_resource(cluster, &default, allocatable_memory, report);
        }
    }
}

/// The default request of a resource.
struct DefaultRequest<'t> {
    /// The name of the team.
    team: &'t str,
    /// The resource.
    resource: QuotaResource,
    /// The requested quantity.
    quantity: &'t Quantity,
    /// The unit of allocatable amounts, in thousandths of the quantity's unit.
    unit: u64,
}

fn check_resource(
    cluster: &Cluster,
    default: &DefaultRequest<'_>,
    allocatable: impl Fn(&Pool) -> Option<u64>,
    report: &mut Report,
) {
    let DefaultRequest {
        team,
        resource,
        quantity,
        unit,
    } = default;
    if !quantity.span.is_written() {
        return;
    }
    let sizes = cluster.pools.iter().map(allocatable);
    let Some(sizes) = sizes.collect::<Option<Vec<_>>>() else {
        return;
    };
    let largest = sizes.into_iter().zip(&cluster.pools).max_by_key(|it| it.0);
    let (Some((max, pool)), Some(requested)) = (largest, quantity.thousandths()) else {
        return;
    };
    let requested = requested.div_ceil(*unit);
    if requested <= max {
        return;
    }
    let message = format!(
        "the default request of team `{team}` does not fit on any node: {}",
        resource.format_amount(requested)
    );
    let label = format!(
        "a node of pool `{}` has {} allocatable",
        pool.name,
        resource.format_amount(max)
    );
    report
        .diagnostic(&RULE.code, quantity.span, message)
        .label(pool.name.span, label)
        .help("lower it to the needs of a container that sets no requests")
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(pools: &str, limits: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: cpu, hosts: [a], nodes: {{count: 1}}, {pools}}}
              - {{name: more, hosts: [b], nodes: {{count: 1}}, allocatable: {{cpu: 8, memory: 64Gi}}}}
            teams: [{{name: t, limits: {{{limits}}}}}]
            "
        );
        assert_eq!(messages_with_id(&yaml, "GPUC2214"), expected, "{limits}");
    }

    #[test]
    fn default_request_beyond_the_largest_node_is_found() {
        let cpu = "the default request of team `t` does not fit on any node: 17 cores";
        let memory = "the default request of team `t` does not fit on any node: 65 GiB of memory";
        let size = "allocatable: {cpu: 16, memory: 32Gi}";
        check(size, "defaultRequest: {cpu: 16, memory: 64Gi}", &[]);
        check(
            size,
            "defaultRequest: {cpu: 17, memory: 65Gi}",
            &[cpu, memory],
        );
        // Nodes of unknown size may be large enough.
        check("labels: {}", "defaultRequest: {cpu: 17, memory: 65Gi}", &[]);
        check(size, "max: {cpu: 64, memory: 1Ti}", &[]);
    }
}
