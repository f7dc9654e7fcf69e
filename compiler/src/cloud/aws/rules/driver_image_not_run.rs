//! An image that installs a driver, and nothing on EKS that runs it.

use gpuc_schema::config::{DevicePlugin, DriverOwner};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An image that installs a driver, and nothing on EKS that runs it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2536",
        name: "driver-image-not-run",
        severity: Severity::Error,
        summary: "`driver: daemonSet` on an EKS image, for which gpuc makes no DaemonSet yet",
        explain: "### What it checks

Whether a pool on an image without a driver waits for a DaemonSet of gpuc's to install it.

### Why it matters

gpuc makes no such DaemonSet on EKS yet. The nodes would come up without a driver, and no
container would see a GPU.

### What to do

Take an image that has the driver: `AmazonLinux2023` or `Bottlerocket`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", devicePlugin: nvidia}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: AmazonLinux2023}, nodes: {count: 2}, stack: {devicePlugin: nvidia}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let has_driver = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        // An image with a driver, and one without a plugin, are told of by rules of their own.
        let told = has_driver || (pool.plugin.value == DevicePlugin::Cloud && !pool.is_existing());
        if told || pool.driver.value != DriverOwner::DaemonSet {
            continue;
        }
        report
            .draft(
                &RULE.code,
                pool.driver.span,
                "gpuc makes no DaemonSet that installs a driver on EKS yet",
            )
            .label(pool.os.span, "this image has no driver")
            .help("take `AmazonLinux2023` or `Bottlerocket`, whose images have one")
            .emit();
    }
}
