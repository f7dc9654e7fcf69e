//! The name of a bucket or of its volume is invalid.

use gpuc_kubernetes::names::is_dns_label;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2131",
        name: "storage-bucket-name",
        severity: Severity::Error,
        summary: "the name of a bucket or of its volume is invalid",
        checks: "Whether the name of a bucket's volume is valid and unique, the namespace is a valid name, and the
bucket is given by its name only.",
        reason: "Persistent volumes are cluster-scoped: of two with the same name only the first is created. The CSI
driver does not accept a URL as a bucket.",
        remedy: "Use names of lower-case letters, digits and `-`, one for each volume. Write the bucket without
`gs://` and without directories.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: "gs://acme-datasets"}]}
nodePools:
  - {name: system, machine: e2-standard-4, zones: [us-central1-a], nodes: {count: 1}}
"#,
        correction: Correction::Replace(r#""gs://acme-datasets""#, "acme-datasets"),
    },
    run,
};

/// Whether a bucket name consists of lower-case letters, digits, `-`, `_` and `.`:
/// <https://cloud.google.com/storage/docs/buckets#naming> (from memory).
fn is_bucket_name(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    (3..=222).contains(&name.len()) && name.bytes().all(plain)
}

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.config.storage else {
        return;
    };
    for (index, bucket) in storage.buckets.iter().enumerate() {
        for (name, kind) in [
            (&bucket.name, "volume and its claim"),
            (&bucket.namespace, "namespace"),
        ] {
            if !is_dns_label(name) {
                let message = format!("invalid name `{name}` for a {kind}");
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .help("write at most 63 lower-case letters, digits and `-`")
                    .emit();
            }
        }
        if !is_bucket_name(&bucket.bucket) {
            let message = format!("invalid bucket name `{}`", bucket.bucket);
            report
                .diagnostic(&RULE.code, bucket.bucket.span, message)
                .help("write only the name of the bucket, such as `acme-datasets`")
                .emit();
        }
        let mut previous = storage.buckets[..index].iter();
        if let Some(first) = previous.find(|it| it.name.value == bucket.name.value) {
            let message = format!("duplicate volume name `{}`", bucket.name);
            report
                .diagnostic(&RULE.code, bucket.name.span, message)
                .label(first.name.span, "the first volume of this name")
                .help("choose another name")
                .emit();
        }
    }
}
