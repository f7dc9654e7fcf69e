//! An image for which nobody has a device plugin.

use gpuc_schema::config::DevicePlugin;

use super::node_group::family_name;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An image for which nobody has a device plugin.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2517",
        name: "plugin-not-in-image",
        severity: Severity::Error,
        summary: "`devicePlugin: cloud` on an image that has no device plugin",
        explain: "### What it checks

Whether there is a plugin of the cloud for the pool's image: eksctl's for Amazon Linux,
Bottlerocket's own.

### Why it matters

eksctl installs its plugin for Amazon Linux alone. On Ubuntu nothing would advertise GPUs.

### What to do

Take `AmazonLinux2023` or `Bottlerocket`. On Ubuntu there is no driver either, and gpuc installs none
on EKS yet.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0", devicePlugin: cloud}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: AmazonLinux2023}, nodes: {count: 2}, stack: {devicePlugin: cloud}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Cloud) {
        let has_driver = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        if !pool.is_existing() && !has_driver {
            let family = family_name(pool.os.value);
            let message = format!("neither EKS nor eksctl has a device plugin for `{family}`");
            report
                .draft(&RULE.code, pool.plugin.span, message)
                .label(pool.os.span, "the image is chosen here")
                .help("take `AmazonLinux2023` or `Bottlerocket`: they have a driver and a plugin")
                .emit();
        }
    }
}
