//! The pool's `allocatable` exceeds the machine's resources or is not a quantity.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Quantity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::with_quantity_help;
use super::team_amount_invalid::has_wrong_unit;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2205",
        name: "allocatable-invalid",
        severity: Severity::Error,
        summary: "`allocatable` is invalid or exceeds the resources of the machine",
        checks: "Whether `cpu` and `memory` in a pool's `allocatable` are quantities, and do not exceed the resources
of the pool's machines.",
        reason: "gpuc compares the requests of workloads with this value. If it is too high, a workload that fits on
no node passes the check.",
        remedy: "Copy the values that `kubectl describe node` shows under `Allocatable` for a node of the pool. For
example, write 96 or 95690m for CPU, and 1000Gi for memory. If gpuc knows the machine type, you can
remove the key.",
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
    allocatable: {cpu: 60, memory: 1TB}
"#,
        correction: Correction::Replace("memory: 1TB", "memory: 1Ti"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(allocatable) = &pool.settings.allocatable else {
            continue;
        };
        let (cpu, memory) = cluster.node_capacity(pool);
        let cpu = cpu.map(|capacity| capacity.total);
        let memory = memory.map(|capacity| capacity.total.saturating_mul(1000));
        check_quantity(pool, allocatable.cpu.as_ref(), cpu, "CPU", report);
        check_quantity(pool, allocatable.memory.as_ref(), memory, "memory", report);
    }
}

/// Checks one resource. `capacity` is the amount that the machine has, in thousandths, if it is known.
fn check_quantity(
    pool: &Pool,
    written: Option<&Spanned<Quantity>>,
    capacity: Option<u64>,
    resource: &str,
    report: &mut Report,
) {
    let Some(written) = written else {
        return;
    };
    let is_cpu = resource == "CPU";
    let amount = written.thousandths().filter(|count| *count > 0);
    let Some(amount) = amount.filter(|_| !has_wrong_unit(&written.0, is_cpu)) else {
        let message = format!("invalid quantity `{}` for {resource}", written.0);
        let examples = if is_cpu {
            "`96` or `95690m`"
        } else {
            "`1000Gi` or `1Ti`"
        };
        let builder = report.diagnostic(&RULE.code, written.span, message);
        let examples = format!("write a quantity such as {examples}");
        with_quantity_help(builder, &written.0, written.span, is_cpu, examples).emit();
        return;
    };
    let machine = pool.machine_name.as_ref();
    // Without facts about the machine, the written value counts.
    if let Some(machine) = machine.filter(|_| capacity.is_some_and(|capacity| amount > capacity)) {
        let message = format!(
            "`{}` exceeds the {resource} of a node of pool `{}`",
            written.0, pool.name
        );
        report.diagnostic(&RULE.code, written.span, message)
.label(machine.span, "the machine type")
.help("write the value that `kubectl describe node` shows under `Allocatable`, or remove it")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn invalid_and_excessive_quantities_are_reported() {
        let exceeds = |text: &str, resource: &str| {
            format!("`{text}` exceeds the {resource} of a node of pool `gpu`")
        };
        let invalid =
            |text: &str, resource: &str| format!("invalid quantity `{text}` for {resource}");
        for (keys, expected) in [
            ("cpu: 4, memory: 16Gi", vec![]),
            ("cpu: 3920m", vec![]),
            ("cpu: 4001m", vec![exceeds("4001m", "CPU")]),
            ("memory: 16385Mi", vec![exceeds("16385Mi", "memory")]),
            ("cpu: 4Gi", vec![invalid("4Gi", "CPU")]),
            ("cpu: 0", vec![invalid("0", "CPU")]),
            ("memory: much", vec![invalid("much", "memory")]),
        ] {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
                  - {{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}, allocatable: {{{keys}}}}}
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2205"), expected, "{keys}");
        }
    }
}
