//! A bucket as a volume on a cloud where gpuc makes none.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A bucket as a volume on a cloud where gpuc makes none.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2130",
        name: "storage-bucket-unavailable",
        severity: Severity::Error,
        summary: "the cloud has no buckets that pods mount without keys",
        explain: "### What it checks

Whether the cloud mounts buckets by its own driver and the identity of the pod: GKE does.

### Why it matters

A volume without a driver is accepted by Kubernetes, and every pod that mounts it waits forever.

### What to do

Remove the bucket. On EKS, programs read S3 by the role of their service account, and FSx for Lustre
is a file system beside it; on AKS a class of `blob-fuse` or `blob-nfs` makes containers.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: acme-datasets}]}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {classes: [{name: fast, volumes: {disk: {}}}]}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    // A cloud without any storage has a rule of its own.
    if facts.storage.is_none_or(|it| it.buckets.is_some()) {
        return;
    }
    let storage = cluster.written.storage.iter();
    for bucket in storage.flat_map(|storage| &storage.buckets) {
        let message = format!("gpuc makes no volumes of buckets for {}", facts.name);
        report
            .draft(&RULE.code, bucket.bucket.span, message)
            .help("remove the bucket, or make a class with `classes`")
            .emit();
    }
}
