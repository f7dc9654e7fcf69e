//! A setting of volumes that they do not have, or one that they need.

use gpuc_schema::config::{StorageClass, Volumes};
use gpuc_schema::{Span, Spanned};

use super::Rule;
use crate::cloud::storage::{Parameter, VolumeType};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A setting of volumes that they do not have, or one that they need.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2102",
        name: "storage-setting-wrong",
        severity: Severity::Error,
        summary: "a storage class lacks a setting or has one too many",
        explain: "### What it checks

Whether the type of a class's volumes sells `iops` and `throughputMiB` apart where they are
written, whether it is part of a file system with an `id` or makes one in a `subnet` behind a
`securityGroup`, and whether what it needs is there.

### Why it matters

The driver refuses to make a volume with a setting that its type does not have, or without one
that it needs. Pods that ask for one wait forever.

### What to do

Remove the setting or write it, as the help says, or choose a type that has it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {type: io2}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {type: io2, iops: 10000}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(facts) = cluster.cloud.facts().storage else {
        return;
    };
    for class in cluster
        .written
        .storage
        .iter()
        .flat_map(|storage| &storage.classes)
    {
        let Some(volumes) = facts.volumes(&class.volumes.value) else {
            continue;
        };
        for (key, takes, written) in settings(class, volumes) {
            let (message, help) = match (takes, written) {
                (None, Some(_)) => (
                    format!("volumes of type `{}` have no `{key}`", volumes.name),
                    format!("remove `{key}`"),
                ),
                (Some(Parameter { needed: true, .. }), None) => (
                    format!("volumes of type `{}` need `{key}`", volumes.name),
                    format!("write `{key}`"),
                ),
                _ => continue,
            };
            let span = written.unwrap_or(class.volumes.span);
            report.draft(&RULE.code, span, message).help(help).emit();
        }
    }
}

/// Each setting with what the type makes of it, and where it is written.
fn settings(
    class: &StorageClass,
    volumes: &VolumeType,
) -> Vec<(&'static str, Option<Parameter>, Option<Span>)> {
    match &class.volumes.value {
        Volumes::Disk(disk) => vec![
            ("iops", volumes.iops, disk.iops.map(|it| it.span)),
            (
                "throughputMiB",
                volumes.throughput,
                disk.throughput_mib.map(|it| it.span),
            ),
        ],
        Volumes::Files(files) => {
            let span = |it: &Option<Spanned<String>>| it.as_ref().map(|it| it.span);
            vec![
                ("id", volumes.id, span(&files.id)),
                ("subnet", volumes.subnet, span(&files.subnet)),
                (
                    "securityGroup",
                    volumes.security_group,
                    span(&files.security_group),
                ),
            ]
        }
    }
}
