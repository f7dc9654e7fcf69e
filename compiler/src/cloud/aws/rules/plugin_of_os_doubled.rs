//! A second device plugin beside Bottlerocket's.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use gpuc_schema::config::DevicePlugin;

/// A second device plugin beside Bottlerocket's.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2516",
        name: "plugin-of-os-doubled",
        severity: Severity::Error,
        summary: "a device plugin is added to an operating system that has one",
        explain: r#"### What it checks

Whether GPUs of Bottlerocket nodes are advertised by Bottlerocket: `devicePlugin: cloud`.

### Why it matters

Bottlerocket's NVIDIA images run the device plugin as a part of the system. A second one
registers the same resource with the kubelet, and the two overwrite each other.

### What to do

Remove `devicePlugin` for the pool or write `cloud`; or take AmazonLinux2023.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Bottlerocket}, nodes: {count: 2}, stack: {devicePlugin: nvidia}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Bottlerocket}, nodes: {count: 2}, stack: {devicePlugin: cloud}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let advertises = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.advertises);
        if advertises && pool.plugin.value != DevicePlugin::Cloud {
            let message = "Bottlerocket advertises its GPUs itself";
            let draft = report
                .draft(&RULE.code, pool.plugin.span, message)
                .here("a second device plugin on the same nodes")
                .label(pool.os.span, "Bottlerocket is chosen here");
            let of_pool = pool.written.stack.device_plugin.is_some();
            let draft = draft.help("write `stack: {devicePlugin: cloud}` for the pool");
            let draft = if of_pool {
                draft.replace(pool.plugin.span, "cloud")
            } else {
                draft
            };
            draft.emit();
        }
    }
}
