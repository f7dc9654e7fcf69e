//! The driver no longer knows the card.

use super::Rule;
use super::places::driver_versions;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The driver no longer knows the card.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2034",
        name: "driver-too-new",
        severity: Severity::Error,
        summary: "the driver no longer knows the card",
        explain: "### What it checks

Whether the branch of `driverVersion` still drives the pool's card: 580 is the last for Pascal
and Volta.

### Why it matters

NVIDIA's later drivers and CUDA 13 leave these generations out; the driver would be installed and
find no GPU.

### What to do

Write the branch that the help names.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "595"}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "580"}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus, written, version) in driver_versions(cluster) {
        let model = gpus.model;
        let Some(last) = model
            .max_driver_branch
            .filter(|last| version.branch > *last)
        else {
            continue;
        };
        let message = format!(
            "driver {written} no longer knows the {} of pool `{}`",
            model.key, pool.name
        );
        let draft = report.draft(&RULE.code, written.span, message);
        let draft = draft.label(gpus.chosen, "the card is chosen here");
        let help = format!("{last} is the last branch for {}", model.architecture);
        draft
            .help(help)
            .replace(written.span, format!("\"{last}\""))
            .emit();
    }
}
