//! A setting of a storage class is missing or not supported.

use gpuc_schema::config::{StorageClass, Volumes};
use gpuc_schema::{Span, Spanned};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::storage::{Parameter, VolumeType};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2102",
        name: "storage-setting-wrong",
        severity: Severity::Error,
        summary: "a setting of a storage class is missing or not supported",
        checks: "Whether the volume type of a class supports the settings that the class sets: `iops` and
`throughputMiB`, an existing file system `id`, or a `subnet` and `securityGroup` for a new one.
Whether all required settings are set.",
        reason: "The CSI driver cannot create a volume with a setting that its type does not support, or without a
required one. Pods that use it stay pending indefinitely.",
        remedy: "Remove or add the setting as described in the help, or choose a volume type that supports it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("type: io2", "type: io2, iops: 10000"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(facts) = cluster.cloud.facts().storage else {
        return;
    };
    for class in cluster
        .config
        .storage
        .iter()
        .flat_map(|storage| &storage.classes)
    {
        let Some(volumes) = facts.volume_type(&class.volumes.value) else {
            continue;
        };
        for (key, parameter, written) in volume_settings(class, volumes) {
            let (message, help) = match (parameter, written) {
                (None, Some(_)) => (
                    format!("volumes of type `{}` do not support `{key}`", volumes.name),
                    format!("remove `{key}`"),
                ),
                (
                    Some(Parameter {
                        is_required: true, ..
                    }),
                    None,
                ) => (
                    format!("volumes of type `{}` require `{key}`", volumes.name),
                    format!("add `{key}` to the settings of the volumes"),
                ),
                _ => continue,
            };
            let span = written.unwrap_or(class.volumes.span);
            report
                .diagnostic(&RULE.code, span, message)
                .help(help)
                .emit();
        }
    }
}

/// Each setting with the type's parameter and the location in the file.
fn volume_settings(
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
