//! `driver: daemonSet`, which gpuc does not support on EKS yet.

use gpuc_schema::config::{DevicePlugin, DriverOwner};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2536",
        name: "driver-daemonset-unsupported",
        severity: Severity::Error,
        summary: "`driver: daemonSet` is not supported on EKS yet",
        checks: "Whether a pool has a node image without a driver and `driver: daemonSet`.",
        reason: "gpuc does not create such a DaemonSet on EKS yet. The nodes start without a driver, and no container
sees a GPU.",
        remedy: "Use a node image that contains the driver: `AmazonLinux2023` or `Bottlerocket`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", devicePlugin: nvidia}}
"#,
        correction: Correction::Replace(r#"Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", "#, "AmazonLinux2023}, nodes: {count: 2}, stack: {"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let has_driver = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        // Other rules report an image with a driver, and one without a device plugin.
        let is_reported =
            has_driver || (pool.plugin.value == DevicePlugin::Cloud && !pool.is_existing());
        if is_reported || pool.driver.value != DriverOwner::DaemonSet {
            continue;
        }
        report
            .diagnostic(
                &RULE.code,
                pool.driver.span,
                "`driver: daemonSet` is not supported on EKS yet",
            )
            .label(pool.os.span, "this image has no driver")
            .help("use the image `AmazonLinux2023` or `Bottlerocket`, with its driver")
            .emit();
    }
}
