//! eksctl's device plugin in a cluster with another device plugin.

use gpuc_schema::config::DevicePlugin;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2518",
        name: "eksctl-plugin-conflict",
        severity: Severity::Error,
        summary: "eksctl's device plugin would also run on pools that have another one",
        checks: "Whether all pools with GPUs use eksctl's device plugin if one of them does: `devicePlugin: cloud` on
Amazon Linux.",
        reason: "eksctl installs one DaemonSet without a node selector. It runs on the nodes of every pool whose taints
it tolerates, including Bottlerocket and pools where another plugin advertises the GPUs.",
        remedy: "Use the same device plugin for all pools. With a Bottlerocket pool, do not use eksctl's plugin.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: a, machine: g5.xlarge, nodes: {count: 2}, stack: {devicePlugin: cloud}}
  - {name: b, machine: g6.xlarge, nodes: {count: 2}, stack: {devicePlugin: nvidia}}
"#,
        correction: Correction::Replace("devicePlugin: cloud", "devicePlugin: nvidia"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let advertises = |pool: &Pool| {
        cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_device_plugin)
    };
    let mut by_cloud = cluster.pools_advertised_by(DevicePlugin::Cloud);
    let Some(eksctl) = by_cloud.find(|pool| !pool.is_existing() && !advertises(pool)) else {
        return;
    };
    for (pool, _) in cluster.gpu_pools() {
        if pool.plugin.value == DevicePlugin::Cloud && !advertises(pool) {
            continue;
        }
        let message = format!(
            "eksctl's device plugin would also run on pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, eksctl.plugin.span, message)
            .label(pool.name.span, "another plugin advertises these GPUs")
            .help("set `devicePlugin` to `nvidia` or `gpuc` for the pools on Amazon Linux")
            .emit();
    }
}
