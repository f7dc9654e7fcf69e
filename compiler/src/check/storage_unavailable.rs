//! Volumes that the cloud does not have.

use gpuc_schema::config::Volumes;

use super::Rule;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Volumes that the cloud does not have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2100",
        name: "storage-unavailable",
        severity: Severity::Error,
        summary: "a storage class is of volumes that the cloud does not have",
        explain: "### What it checks

Whether the cloud has volumes of the type that a storage class asks for, and gpuc knows how to
ask for them.

### Why it matters

A class of an unknown type is accepted by Kubernetes, and every volume of it waits forever.

### What to do

Write one of the types that the help names. On premises, use a class that is there.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {type: pd-ssd}}}
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
    - {name: fast, volumes: {disk: {type: gp3}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.written.storage else {
        return;
    };
    let facts = cluster.cloud.facts();
    let Some(volumes) = facts.storage else {
        let message = format!("gpuc makes no storage classes for {}", facts.name);
        report
            .draft(&RULE.code, storage.span, message)
            .help("remove `storage` and name a class that is there where volumes are asked for")
            .emit();
        return;
    };
    for class in &storage.classes {
        if volumes.volumes(&class.volumes.value).is_some() {
            continue;
        }
        let (what, types, kind) = match &class.volumes.value {
            Volumes::Disk(disk) => ("disks", volumes.disks, &disk.kind),
            Volumes::Files(files) => ("file systems", volumes.files, &files.kind),
        };
        let Some(kind) = kind else {
            continue;
        };
        let message = format!("gpuc knows of no {what} `{kind}` of {}", facts.name);
        let types: Vec<_> = types.iter().map(|it| it.name).collect();
        report
            .draft(&RULE.code, kind.span, message)
            .help(one_of(&types))
            .emit();
    }
}
