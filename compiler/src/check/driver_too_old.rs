//! The driver is older than the card.

use super::Rule;
use super::places::driver_versions;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The driver is older than the card.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2033",
        name: "driver-too-old",
        severity: Severity::Warning,
        summary: "the driver is older than the card",
        explain: "### What it checks

Whether the branch of `driverVersion` knows the pool's card.

### Why it matters

An older driver does not find the card: `nvidia-smi` says that there are no devices.

### What to do

Write the branch that the help names, or a later one. When each branch began to know a card is
common knowledge; if yours does, write `allow: [driver-too-old]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "535"}
nodePools:
  - name: gpu
    gpu: {model: b200-sxm6-180gb, perNode: 8}
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
    gpu: {model: b200-sxm6-180gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus, written, version) in driver_versions(cluster) {
        let (model, first) = (gpus.model, gpus.model.min_driver_branch);
        if version.branch >= first {
            continue;
        }
        let message = format!(
            "driver {written} does not know the {} of pool `{}`",
            model.key, pool.name
        );
        let draft = report.draft(&RULE.code, written.span, message);
        let draft = draft.label(gpus.chosen, "the card is chosen here");
        draft.help(format!("write {first} or later")).emit();
    }
}
