//! Slices to be claimed that nobody cuts.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// Slices to be claimed that nobody cuts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2112",
        name: "dra-mig-nobody-cuts",
        severity: Severity::Error,
        summary: "slices of GPUs shall be claimed, and nobody cuts them",
        explain: "### What it checks

Whether somebody cuts the GPUs of a pool with `sharing.mig` and `allocation: dra`: some clouds do
when they make the nodes, and the maker of a pool made by hand may have done it. gpuc-runtime,
which cuts GPUs elsewhere, does not run where no device plugin does.

### Why it matters

The driver describes the slices that it finds when it starts. It would find none, and claims for
them would wait for ever. That it cuts GPUs itself is an alpha feature of it (`DynamicMIG`, off by
default, not on the A100), which takes no layout.

### What to do

Write `allocation: devicePlugin` with `devicePlugin: gpuc`, or leave the GPUs whole.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    },
    run,
};

/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `pkg/featuregates/featuregates.go`, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_claimed() {
        let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        if !is_mig || pool.is_existing() || cluster.cloud.cuts_gpus(pool) {
            continue;
        }
        let message = format!("nobody cuts the GPUs of pool `{}` into slices", pool.name);
        report
            .draft(&RULE.code, pool.written.sharing.span, message)
            .label(
                pool.allocation.span,
                "the driver for claims offers slices, and makes none",
            )
            .help("write `allocation: devicePlugin`, with `devicePlugin: gpuc`, which cuts them")
            .emit();
    }
}
