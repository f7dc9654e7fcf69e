//! A device plugin for a pool whose GPUs are claimed.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, DevicePlugin};

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// A device plugin for a pool whose GPUs are claimed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2111",
        name: "dra-beside-device-plugin",
        severity: Severity::Error,
        summary: "a device plugin is named for GPUs that pods claim",
        explain: "### What it checks

Whether `stack.devicePlugin` is written for a pool with `allocation: dra`, or for a cluster all of
whose GPUs are claimed.

### Why it matters

A device plugin and the driver for claims would hand out the same GPUs, each without knowing of
the other. gpuc runs one of them, so the other would be a word without effect.

### What to do

Remove one of the two.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra, devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
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
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut claimed = cluster.pools_claimed().peekable();
    let all = cluster.gpu_pools().count() == cluster.pools_claimed().count()
        && cluster.pools.iter().all(|pool| !pool.gpus.is_hole());
    if let (Some(pool), Some(plugin), true) =
        (claimed.peek(), cluster.written.stack.device_plugin, all)
    {
        refuse(pool, plugin, report);
    }
    for pool in claimed {
        if let Some(plugin) = pool.written.stack.device_plugin {
            refuse(pool, plugin, report);
        }
    }
}

fn refuse(pool: &Pool, plugin: Spanned<DevicePlugin>, report: &mut Report) {
    let message = format!("no device plugin runs on pool `{}`", pool.name);
    report
        .draft(&RULE.code, plugin.span, message)
        .here(format!("`{}` would hand out the same GPUs", word(&plugin)))
        .label(pool.allocation.span, "pods claim them")
        .help(format!(
            "remove `devicePlugin`, or write `allocation: {}`",
            word(&Allocation::DevicePlugin)
        ))
        .emit();
}
