//! `devicePlugin` is set for GPUs that are allocated through DRA.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2111",
        name: "dra-with-device-plugin",
        severity: Severity::Error,
        summary: "`devicePlugin` is set for GPUs that are allocated through DRA",
        checks: "Whether `stack.devicePlugin` is set for a pool with `allocation: dra`, or for a cluster in which all
pools with GPUs have it.",
        reason: "A device plugin and the DRA driver would allocate the same GPUs without knowing of each other. gpuc
installs only one of them, so `devicePlugin` would have no effect.",
        remedy: "Remove one of the two keys.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra, devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(", devicePlugin: nvidia", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut dra_pools = cluster.dra_pools().peekable();
    let all_dra = cluster.gpu_pools().count() == cluster.dra_pools().count()
        && cluster.pools.iter().all(|pool| !pool.gpus.is_unresolved());
    if let (Some(pool), Some(plugin), true) = (
        dra_pools.peek(),
        cluster.config.stack.device_plugin,
        all_dra,
    ) {
        reject(pool, plugin, report);
    }
    for pool in dra_pools {
        if let Some(plugin) = cluster.pool_in_file(pool).stack.device_plugin {
            reject(pool, plugin, report);
        }
    }
}

fn reject(pool: &Pool, plugin: Spanned<DevicePlugin>, report: &mut Report) {
    let message = format!("no device plugin runs on pool `{}`", pool.name);
    report
        .diagnostic(&RULE.code, plugin.span, message)
        .primary_label(format!(
            "`{}` would allocate the same GPUs",
            keyword(&plugin)
        ))
        .label(pool.allocation.span, "the GPUs are allocated through DRA")
        .help(format!(
            "remove `devicePlugin`, or write `allocation: {}`",
            keyword(&Allocation::DevicePlugin)
        ))
        .emit();
}
