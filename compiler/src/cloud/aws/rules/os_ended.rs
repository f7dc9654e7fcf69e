//! A node image that has ended.

use gpuc_schema::config::OsFamily;

use super::made_pools;
use super::node_group::family_name;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A node image that has ended.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2513",
        name: "os-ended",
        severity: Severity::Error,
        summary: "a node image is not made for the Kubernetes version",
        explain: r#"### What it checks

Whether EKS has a pool's node image for the cluster's Kubernetes version. Amazon Linux 2 ended
with 1.32 and Ubuntu 20.04 with 1.29.

### Why it matters

EKS runs no version of Kubernetes any more that these images are made for, so an example that
uses them cannot work today. eksctl stops at them.

### What to do

Use AmazonLinux2023, or a newer Ubuntu with the driver from the GPU Operator.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: AmazonLinux2}, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, os: {family: AmazonLinux2023}, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    for pool in made_pools(cluster) {
        let Some(os) = cluster.cloud.os(pool.os.value) else {
            continue;
        };
        if os.kubernetes.contains(&version.value) {
            continue;
        }
        let family = family_name(os.family);
        let last = os.kubernetes.end();
        let message = format!("EKS has no `{family}` image for Kubernetes {version}");
        let instead = match os.family {
            OsFamily::Ubuntu2004 => "Ubuntu2404",
            _ => "AmazonLinux2023",
        };
        report
            .draft(&RULE.code, pool.os.span, message)
            .here(format!(
                "it ended with Kubernetes {last}, which EKS runs no more"
            ))
            .label(version.span, "the cluster's version")
            .help(format!("write `{instead}`"))
            .replace(pool.os.span, instead)
            .emit();
    }
}
