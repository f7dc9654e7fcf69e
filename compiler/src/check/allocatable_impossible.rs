//! A node cannot have so much for pods.

use super::Rule;
use super::team_amount_invalid::has_wrong_unit;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Quantity;

/// A node cannot have so much for pods.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2205",
        name: "allocatable-impossible",
        severity: Severity::Error,
        summary: "a node cannot have so much CPU or memory for pods",
        explain: "### What it checks

Whether `cpu` and `memory` below `allocatable` of a pool are amounts, and no more than its machines have.

### Why it matters

Workloads are held against it: with more than there is, one that fits nowhere would pass.

### What to do

Write what `kubectl describe node` says of a node of the pool under `Allocatable`, or remove it where
the machine type is known: 96 or 95690m of CPU, 1000Gi of memory.
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
    allocatable: {cpu: 60, memory: 1TB}
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
    allocatable: {cpu: 60, memory: 1Ti}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(said) = &pool.written.allocatable else {
            continue;
        };
        let (cpu, memory) = cluster.room(pool);
        let cpu = cpu.map(|room| room.whole);
        let memory = memory.map(|room| room.whole.saturating_mul(1000));
        look(pool, said.cpu.as_ref(), cpu, "CPU", report);
        look(pool, said.memory.as_ref(), memory, "memory", report);
    }
}

fn look(
    pool: &Pool,
    said: Option<&Spanned<Quantity>>,
    whole: Option<u64>,
    what: &str,
    report: &mut Report,
) {
    let Some(said) = said else {
        return;
    };
    let is_cpu = what == "CPU";
    let amount = said.thousandths().filter(|count| *count > 0);
    let Some(amount) = amount.filter(|_| !has_wrong_unit(&said.0, is_cpu)) else {
        let message = format!("`{}` is no amount of {what}", said.0);
        let draft = report.draft(&RULE.code, said.span, message);
        let examples = if is_cpu {
            "96 or 95690m"
        } else {
            "1000Gi or 1Ti"
        };
        draft.help(format!("write {examples}")).emit();
        return;
    };
    let machine = pool.written.machine.as_ref();
    // Where nothing is known of the machine, it has what is said.
    if let Some(machine) = machine.filter(|_| whole.is_some_and(|whole| amount > whole)) {
        let message = format!("a node of pool `{}` has less {what} than that", pool.name);
        let draft = report.draft(&RULE.code, said.span, message);
        let draft = draft.label(machine.span, "the machine type");
        draft
            .help("write what `kubectl describe node` says, or remove it")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_node_leaves_pods_no_more_than_it_has() {
        let less = |what: &str| format!("a node of pool `gpu` has less {what} than that");
        let none = |text: &str, what: &str| format!("`{text}` is no amount of {what}");
        for (keys, expected) in [
            ("cpu: 4, memory: 16Gi", vec![]),
            ("cpu: 3920m", vec![]),
            ("cpu: 4001m", vec![less("CPU")]),
            ("memory: 16385Mi", vec![less("memory")]),
            ("cpu: 4Gi", vec![none("4Gi", "CPU")]),
            ("cpu: 0", vec![none("0", "CPU")]),
            ("memory: much", vec![none("much", "memory")]),
        ] {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
                  - {{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}, allocatable: {{{keys}}}}}
                "
            );
            assert_eq!(messages(&yaml, "GPUC2205"), expected, "{keys}");
        }
    }
}
