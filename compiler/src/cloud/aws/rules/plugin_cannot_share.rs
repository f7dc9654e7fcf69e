//! Shared GPUs with a device plugin that gpuc does not configure.

use gpuc_schema::config::{DevicePlugin, OsFamily};

use crate::check::Rule;
use crate::cloud::shares;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Shared GPUs with a device plugin that gpuc does not configure.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2519",
        name: "plugin-cannot-share",
        severity: Severity::Error,
        summary: "GPUs are shared with a device plugin that gpuc does not configure",
        explain: "### What it checks

Whether a pool with `sharing` has a device plugin that gpuc configures.

### Why it matters

eksctl's plugin has no configuration, and Bottlerocket's is a part of the node's user data,
which gpuc does not write. Both would advertise whole GPUs.

### What to do

Choose `gpuc` or `nvidia` as `devicePlugin`; on Bottlerocket that means another
image.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, sharing: {timeSlicing: {replicas: 4}}, stack: {devicePlugin: cloud}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, sharing: {timeSlicing: {replicas: 4}}, stack: {devicePlugin: nvidia}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        if !pool.is_existing() && shares(&pool.written) {
            let message = "this device plugin advertises whole GPUs only";
            report
                .draft(&RULE.code, pool.written.sharing.span, message)
                .label(pool.plugin.span, "the device plugin is chosen here")
                .label(pool.os.span, "the operating system is chosen here")
                .help(if pool.os.value == OsFamily::Bottlerocket {
                    "take `AmazonLinux2023`, and write `devicePlugin: gpuc` or `nvidia`"
                } else {
                    "write `devicePlugin: gpuc` or `nvidia`"
                })
                .emit();
        }
    }
}
