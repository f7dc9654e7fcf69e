//! The name of a volume, a namespace or a bucket that it cannot have.

use super::Rule;
use super::syntax::is_dns_label;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The name of a volume, a namespace or a bucket that it cannot have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2131",
        name: "storage-bucket-name",
        severity: Severity::Error,
        summary: "a volume of a bucket cannot have its name, or is there twice",
        explain: "### What it checks

Whether the name of a bucket's volume is one that Kubernetes takes, only one volume has it, the
namespace is one that Kubernetes takes, and the bucket is written by its name alone.

### Why it matters

Volumes are known in the whole cluster, so that of two with one name only the first is made; and the
driver finds no bucket by a URL.

### What to do

Write names with lower-case letters, digits and `-`, one for each volume, and the bucket without
`gs://` and without folders.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: "gs://acme-datasets"}]}
nodePools:
  - {name: system, machine: e2-standard-4, zones: [us-central1-a], nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {buckets: [{name: datasets, namespace: research, bucket: acme-datasets}]}
nodePools:
  - {name: system, machine: e2-standard-4, zones: [us-central1-a], nodes: {count: 1}}
"#,
    },
    run,
};

/// A bucket's name has letters, digits, `-`, `_` and `.`:
/// <https://cloud.google.com/storage/docs/buckets#naming> (from memory).
fn is_bucket(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    (3..=222).contains(&name.len()) && name.bytes().all(plain)
}

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.written.storage else {
        return;
    };
    for (index, bucket) in storage.buckets.iter().enumerate() {
        for (name, what) in [
            (&bucket.name, "volume and a claim"),
            (&bucket.namespace, "namespace"),
        ] {
            if !is_dns_label(name) {
                let message = format!("`{name}` cannot be the name of a {what}");
                report
                    .draft(&RULE.code, name.span, message)
                    .help("write lower-case letters, digits and `-`, at most 63")
                    .emit();
            }
        }
        if !is_bucket(&bucket.bucket) {
            let message = format!("`{}` is not the name of a bucket", bucket.bucket);
            report
                .draft(&RULE.code, bucket.bucket.span, message)
                .help("write its name alone, as in `acme-datasets`")
                .emit();
        }
        let mut before = storage.buckets[..index].iter();
        if let Some(first) = before.find(|it| it.name.value == bucket.name.value) {
            let message = format!("two volumes are called `{}`", bucket.name);
            report
                .draft(&RULE.code, bucket.name.span, message)
                .label(first.name.span, "the first one")
                .help("choose another name")
                .emit();
        }
    }
}
