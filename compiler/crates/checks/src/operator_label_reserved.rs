//! A label of the GPU Operator is set in the configuration.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, operator};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2093",
        name: "operator-label-reserved",
        severity: Severity::Error,
        summary: "a label of the GPU Operator is set in the configuration",
        checks: "Whether a pool's `labels` contain a label by which the GPU Operator selects nodes or their
configuration, if gpuc installs the operator: `nvidia.com/gpu.deploy.*`,
`nvidia.com/device-plugin.config` and `nvidia.com/mig.config`.",
        reason: "gpuc derives these labels from `driver`, `devicePlugin` and `sharing`. Labels set by hand can
contradict them: then two drivers or two device plugins run on a node, or none.",
        remedy: "Remove the label, and configure the pool with `stack` and `sharing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    labels: {nvidia.com/gpu.deploy.driver: "false"}
"#,
        correction: Correction::Replace(r#"labels: {nvidia.com/gpu.deploy.driver: "false""#, "stack: {driver: host"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.operator_pools().next().is_none() {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for key in pool.user_labels.keys() {
            if !operator::is_operator_label(key) {
                continue;
            }
            report
                .diagnostic(
                    &RULE.code,
                    key.span,
                    format!("the label `{key}` is managed by gpuc"),
                )
                .label(pool.driver.span, "this sets the owner of the driver")
                .label(pool.plugin.span, "this sets the device plugin")
                .help("remove this label, and configure the pool with `stack` and `sharing`")
                .emit();
        }
    }
}
