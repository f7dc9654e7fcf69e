//! An image without a driver, and nobody who installs one.

use gpuc_schema::config::DriverOwner;

use super::node_group::family_name;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An image without a driver, and nobody who installs one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2514",
        name: "driver-not-in-image",
        severity: Severity::Error,
        summary: "a node image has no NVIDIA driver and nothing installs one",
        explain: r#"### What it checks

Whether somebody installs the driver on pools whose image has none: Canonical's Ubuntu images
for EKS.

### Why it matters

With `driver: preinstalled` nothing would install a driver, and no plugin would find a GPU.

### What to do

Write `stack: {driver: operator}` for the pool, or take AmazonLinux2023 or Bottlerocket, whose
images have the driver.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: Ubuntu2404}, nodes: {count: 2}, stack: {driver: operator, devicePlugin: operator}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, _) in cluster.gpu_pools() {
        let lacks = cluster
            .cloud
            .os(pool.os.value)
            .is_some_and(|os| !os.has_driver);
        if lacks && pool.driver.value == DriverOwner::Preinstalled {
            let family = family_name(pool.os.value);
            let message = format!("the image `{family}` has no NVIDIA driver");
            report
                .draft(&RULE.code, pool.os.span, message)
                .label(pool.driver.span, "nothing installs one")
                .help("write `stack: {driver: operator}` for the pool, or take `AmazonLinux2023`")
                .emit();
        }
    }
}
