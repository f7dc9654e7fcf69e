//! Nothing says that the GPU Operator does on a pool made by hand what is asked of it.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Label, operator};

/// Nothing says that the GPU Operator does on a pool made by hand what is asked of it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2094",
        name: "operator-label-missing",
        severity: Severity::Error,
        summary: "a pool made by hand lacks labels by which the GPU Operator chooses nodes",
        explain: "### What it checks

In a cluster where gpuc installs the GPU Operator: whether `existing.selector` has the labels that
keep the operator to what is asked of it on that pool. Pools that gpuc makes get them from gpuc.

### Why it matters

The operator goes to every node with an NVIDIA card. Without these labels it would install a
second driver or a second device plugin there, or share the GPUs in another way than the file
says.

### What to do

Put the labels that the help names on the pool's nodes, and add them to `existing.selector`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {driver: operator, devicePlugin: operator}
  - name: old
    gpu: {model: L4, perNode: 1}
    nodes: {count: 2}
    existing: {selector: {rack: b}}
    stack: {driver: preinstalled}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {driver: operator, devicePlugin: operator}
  - name: old
    gpu: {model: L4, perNode: 1}
    nodes: {count: 2}
    existing: {selector: {rack: b, nvidia.com/gpu.deploy.operands: "false"}}
    stack: {driver: preinstalled}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some((served, operands)) = cluster.operator_pools().next() else {
        return;
    };
    // Who installs the driver may follow from the plugin.
    let bringer = if operands.driver && served.driver.span.is_written() {
        served.driver.span
    } else {
        served.plugin.span
    };
    for pool in &cluster.pools {
        let Some(existing) = &pool.written.existing else {
            continue;
        };
        let wanted = operator::labels(cluster.cloud, pool);
        let has = |label: &Label| {
            let mut selector = pool.selector.iter();
            selector.any(|own| own.key == label.key && own.value == label.value)
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|label| !has(label))
            .map(|label| format!("`{}={}`", label.key, label.value))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let message = format!(
            "nothing says what the GPU Operator does on the nodes of pool `{}`",
            pool.name
        );
        report
            .draft(&RULE.code, existing.span, message)
            .here("labels are missing among these")
            .label(bringer, "this brings the GPU Operator")
            .label(pool.driver.span, "where the driver comes from")
            .label(pool.plugin.span, "who advertises the GPUs")
            .help(format!(
                "label the nodes {} and add that to `existing.selector`",
                missing.join(", ")
            ))
            .emit();
    }
}
