//! The cloud does not support buckets as volumes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2130",
        name: "storage-bucket-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not support buckets as volumes",
        checks: "Whether the cloud can mount buckets with its own CSI driver and the identity of the pod, as GKE can.",
        reason: "Kubernetes accepts a volume without a driver, and every pod that mounts it stays pending
indefinitely.",
        remedy: "Remove the bucket. On EKS, programs access S3 with the IAM role of their service account; FSx for
Lustre is an alternative file system. On AKS, a storage class of `blob-fuse` or `blob-nfs` creates
blob containers.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: acme-datasets}]}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace("buckets: [{name: datasets, namespace: research, bucket: acme-datasets", "classes: [{name: fast, volumes: {disk: {}}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    // Another rule reports a cloud without any storage.
    if facts.storage.is_none_or(|it| it.buckets.is_some()) {
        return;
    }
    let storage = cluster.config.storage.iter();
    for bucket in storage.flat_map(|storage| &storage.buckets) {
        let message = format!("buckets as volumes are not supported on {}", facts.name);
        report
            .diagnostic(&RULE.code, bucket.bucket.span, message)
            .help("remove the bucket, or add a storage class to `classes`")
            .emit();
    }
}
