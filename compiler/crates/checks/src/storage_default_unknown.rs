//! The default storage class does not exist in the configuration.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2103",
        name: "storage-default-unknown",
        severity: Severity::Error,
        summary: "the default storage class does not exist in the configuration",
        checks: "Whether `storage.default` is the name of one of `storage.classes`.",
        reason: "The default class is marked by an annotation on the class itself, and gpuc annotates only its own
classes.",
        remedy: "Write the name of one of the classes, or remove `default` to keep the cluster's default.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {}}}
  default: slow
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("default: slow", "default: fast"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(storage) = &cluster.config.storage else {
        return;
    };
    let Some(default) = &storage.default else {
        return;
    };
    let names: Vec<_> = storage
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .collect();
    if !names.contains(&default.as_str()) {
        let message = format!("unknown storage class `{default}`");
        report
            .diagnostic(&RULE.code, default.span, message)
            .help(one_of_help(&names))
            .emit();
    }
}
