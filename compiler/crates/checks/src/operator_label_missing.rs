//! An existing pool lacks the labels that configure the GPU Operator on its nodes.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Label, operator};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2094",
        name: "operator-label-missing",
        severity: Severity::Error,
        summary: "an existing pool lacks the labels that configure the GPU Operator on its nodes",
        checks: "Whether `existing.selector` contains the labels that limit the GPU Operator to its configured tasks
on that pool, if gpuc installs the operator. gpuc adds these labels to the pools that it creates.",
        reason: "The operator runs on every node with an NVIDIA GPU. Without these labels it installs a second driver
or a second device plugin there, or shares the GPUs differently from the configuration.",
        remedy: "Add the labels in the help to the pool's nodes and to `existing.selector`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("rack: b", r#"rack: b, nvidia.com/gpu.deploy.operands: "false""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some((first, operands)) = cluster.operator_pools().next() else {
        return;
    };
    // The owner of the driver may be derived from the device plugin.
    let deployed_by = if operands.driver && first.driver.span.is_written() {
        first.driver.span
    } else {
        first.plugin.span
    };
    for pool in &cluster.pools {
        let Some(existing) = &pool.settings.existing else {
            continue;
        };
        let required = operator::operand_labels(cluster.cloud, pool);
        let is_selected = |label: &Label| {
            let mut selector = pool.selector.iter();
            selector.any(|own| own.key == label.key && own.value == label.value)
        };
        let missing: Vec<_> = required
            .iter()
            .filter(|label| !is_selected(label))
            .map(|label| format!("`{}={}`", label.key, label.value))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let message = format!(
            "pool `{}` lacks the labels that configure the GPU Operator",
            pool.name
        );
        report
            .diagnostic(&RULE.code, existing.span, message)
            .primary_label("labels are missing from this selector")
            .label(deployed_by, "this setting deploys the GPU Operator")
            .label(pool.driver.span, "this sets the owner of the driver")
            .label(pool.plugin.span, "this sets the device plugin")
            .help(format!(
                "label the nodes with {} and add the same to `existing.selector`",
                missing.join(", ")
            ))
            .emit();
    }
}
