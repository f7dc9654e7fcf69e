//! A second driver on an image that has one.

use gpuc_schema::config::DriverOwner;

use super::node_group::family_name;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A second driver on an image that has one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2515",
        name: "driver-installed-twice",
        severity: Severity::Error,
        summary: "a driver is installed on an image that has one",
        explain: "### What it checks

Whether the driver of a pool comes by a DaemonSet where the image has one: Amazon Linux and
Bottlerocket.

### Why it matters

Both drivers load the same kernel modules. The second one fails, and nodes never become ready.

### What to do

Remove `driver`: the image brings its own.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, stack: {driver: daemonSet, driverImage: "registry.example.com/driver:1.0.0"}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let has = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| os.has_driver);
        let here = cluster.cloud.facts().drivers.contains(&pool.driver.value);
        if has && here && pool.driver.value == DriverOwner::DaemonSet {
            let family = family_name(pool.os.value);
            let message = format!("the image `{family}` has the NVIDIA driver already");
            report
                .draft(&RULE.code, pool.driver.span, message)
                .label(pool.os.span, "the image is chosen here")
                .help(if pool.driver_image.is_some() {
                    "remove `driver` and `driverImage`"
                } else {
                    "remove `driver`"
                })
                .emit();
        }
    }
}
