//! The cloud does not have this type of volume.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Volumes;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2100",
        name: "storage-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not have this type of volume",
        checks: "Whether the cloud has volumes of the type of a storage class, and gpuc supports them.",
        reason: "Kubernetes accepts a class of an unknown type, and every volume of it stays pending indefinitely.",
        remedy: "Choose one of the types in the help. On premises, use an existing storage class.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("type: pd-ssd", "type: gp3"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.config.storage else {
        return;
    };
    let facts = cluster.cloud.facts();
    let Some(volumes) = facts.storage else {
        let message = format!("storage classes are not supported on {}", facts.name);
        report
            .diagnostic(&RULE.code, storage.span, message)
            .help("remove `storage`, and use an existing storage class in the volumes")
            .emit();
        return;
    };
    for class in &storage.classes {
        if volumes.volume_type(&class.volumes.value).is_some() {
            continue;
        }
        let (category, types, kind) = match &class.volumes.value {
            Volumes::Disk(disk) => ("disks", volumes.disks, &disk.kind),
            Volumes::Files(files) => ("file systems", volumes.files, &files.kind),
        };
        let Some(kind) = kind else {
            continue;
        };
        let message = format!("unknown type `{kind}` for {category} on {}", facts.name);
        let types: Vec<_> = types.iter().map(|it| it.name).collect();
        report
            .diagnostic(&RULE.code, kind.span, message)
            .help(one_of_help(&types))
            .emit();
    }
}
