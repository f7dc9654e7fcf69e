//! `driver: daemonSet` on an image that contains the driver.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::node_group::family_name;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2515",
        name: "driver-installed-twice",
        severity: Severity::Error,
        summary: "a driver is installed on an image that contains one",
        checks: "Whether a DaemonSet installs the driver of a pool whose image already contains it: Amazon Linux and
Bottlerocket.",
        reason: "Both drivers load the same kernel modules. The second one fails, and nodes never become ready.",
        remedy: "Remove `driver`: the image contains the driver.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0"}}
"#,
        correction: Correction::Replace(r#", stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0"}"#, ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let has_driver = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        let is_supported = cluster.cloud.facts().drivers.contains(&pool.driver.value);
        if has_driver && is_supported && pool.driver.value == DriverOwner::DaemonSet {
            let family = family_name(pool.os.value);
            let message = format!("the image `{family}` already contains the NVIDIA driver");
            report
                .diagnostic(&RULE.code, pool.driver.span, message)
                .label(pool.os.span, "the image is set here")
                .help(if pool.driver_image.is_some() {
                    "remove `driver` and `driverImage`"
                } else {
                    "remove `driver`"
                })
                .emit();
        }
    }
}
