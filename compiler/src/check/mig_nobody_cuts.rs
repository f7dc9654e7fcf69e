//! Slices that nobody cuts.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// Slices that nobody cuts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2051",
        name: "mig-nobody-cuts",
        severity: Severity::Error,
        summary: "a pool's GPUs shall be cut into slices, and nobody cuts them",
        explain: r"### What it checks

Whether somebody cuts the GPUs of a pool with `sharing.mig`: gpuc-runtime does where it advertises
them, and some clouds do when they make the nodes. NVIDIA's device plugin does not.

### Why it matters

The plugin offers the slices that it finds. It would find none: with `mixed` the nodes would offer
whole GPUs, with `single` the plugin would not start.

### What to do

Write `devicePlugin: gpuc`. What a pool made by hand has is its maker's business.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
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

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Nvidia) {
        let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        if !is_mig || pool.is_existing() || cluster.cloud.cuts_gpus(pool) {
            continue;
        }
        let message = format!("nobody cuts the GPUs of pool `{}` into slices", pool.name);
        report
            .draft(&RULE.code, pool.written.sharing.span, message)
            .label(
                pool.plugin.span,
                "this plugin offers slices, and makes none",
            )
            .help("write `devicePlugin: gpuc`, which cuts them")
            .emit();
    }
}
