//! Shared GPUs with a device plugin that gpuc does not configure.

use gpuc_schema::config::{DevicePlugin, OsFamily};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::has_sharing_setting;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2519",
        name: "plugin-cannot-share",
        severity: Severity::Error,
        summary: "GPUs are shared with a device plugin that gpuc does not configure",
        checks: "Whether a pool with `sharing` has a device plugin that gpuc configures.",
        reason: "eksctl's plugin has no configuration. Bottlerocket configures its plugin in the node's user data,
which gpuc does not write. Both would advertise full GPUs.",
        remedy: "Set `devicePlugin` to `gpuc` or `nvidia`. On Bottlerocket, also use another node image.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, sharing: {timeSlicing: {replicas: 4}}, stack: {devicePlugin: cloud}}
"#,
        correction: Correction::Replace("devicePlugin: cloud", "devicePlugin: nvidia"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        if !pool.is_existing() && has_sharing_setting(cluster.pool_in_file(pool)) {
            let message = "`sharing` is not supported with the device plugin of the cloud";
            report
                .diagnostic(&RULE.code, pool.sharing_span, message)
                .label(pool.plugin.span, "the device plugin is set here")
                .label(pool.os.span, "the operating system is set here")
                .help(if pool.os.value == OsFamily::Bottlerocket {
                    "use `AmazonLinux2023`, and set `devicePlugin` to `gpuc` or `nvidia`"
                } else {
                    "write `devicePlugin: nvidia` or `devicePlugin: gpuc` in the pool's `stack`"
                })
                .emit();
        }
    }
}
