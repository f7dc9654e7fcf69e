//! Bucket volume in a cluster without workload identity.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2634",
        name: "gke-bucket-identity",
        severity: Severity::Error,
        summary: "a bucket is mounted in a cluster without workload identity",
        checks: "Whether a new cluster with `storage.buckets` has `workloadIdentity` enabled.",
        reason: "Cloud Storage FUSE authenticates with the identity of the pod. Without workload identity, every mount
fails.",
        remedy: "Remove `workloadIdentity: false`, or remove the buckets.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {workloadIdentity: false}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: acme-datasets}]}
nodePools:
  - {name: system, machine: e2-standard-4, zones: [us-central1-a], nodes: {count: 1}}
"#,
        correction: Correction::Replace("workloadIdentity: false", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(&cluster.config) else {
        return;
    };
    let storage = cluster.config.storage.as_ref();
    let bucket = storage.and_then(|storage| storage.buckets.first());
    if let Some(bucket) = bucket
        && !create.workload_identity.value
    {
        let message = "mounting a bucket requires workload identity, which the cluster disables";
        report
            .diagnostic(&RULE.code, create.workload_identity.span, message)
            .label(bucket.bucket.span, "the first bucket")
            .help("remove `workloadIdentity: false`")
            .emit();
    }
}
