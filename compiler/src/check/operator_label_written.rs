//! A label by which the GPU Operator chooses nodes is written by hand.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, operator};

/// A label by which the GPU Operator chooses nodes is written by hand.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2093",
        name: "operator-label-written",
        severity: Severity::Error,
        summary: "a label by which the GPU Operator chooses nodes is written by hand",
        explain: "### What it checks

Whether a pool's `labels` have one by which the GPU Operator chooses nodes or what to do there,
in a cluster where gpuc installs the operator: `nvidia.com/gpu.deploy.*`,
`nvidia.com/device-plugin.config` and `nvidia.com/mig.config`.

### Why it matters

The labels follow from `driver`, `devicePlugin` and `sharing`. By hand they can contradict them:
then two drivers or two plugins come to a node, or none.

### What to do

Remove the label, and say by `stack` and `sharing` what is wanted.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    labels: {nvidia.com/gpu.deploy.driver: "false"}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {driver: host}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.operator_pools().next().is_none() {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for key in pool.written.labels.keys() {
            if !operator::is_operators(key) {
                continue;
            }
            report
                .draft(
                    &RULE.code,
                    key.span,
                    format!("`{key}` is not a label to write by hand"),
                )
                .label(pool.driver.span, "this decides where the driver comes from")
                .label(pool.plugin.span, "this decides who advertises the GPUs")
                .help("remove it, and say what is wanted by `stack` and `sharing`")
                .emit();
        }
    }
}
