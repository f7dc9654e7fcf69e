//! A default storage class that there is not.

use super::Rule;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A default storage class that there is not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2103",
        name: "storage-default-unknown",
        severity: Severity::Error,
        summary: "the default storage class is none of those that the file makes",
        explain: "### What it checks

Whether `storage.default` is the name of one of `storage.classes`.

### Why it matters

Which class is the default stands on the class itself, and gpuc writes on its own classes alone.

### What to do

Write the name of one of the classes, or remove `default` to leave it as it is in the cluster.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage:
  classes:
    - {name: fast, volumes: {disk: {}}}
  default: fast
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
    let Some(default) = &storage.default else {
        return;
    };
    let names: Vec<_> = storage
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .collect();
    if !names.contains(&default.as_str()) {
        let message = format!("no class is called `{default}`");
        report
            .draft(&RULE.code, default.span, message)
            .help(one_of(&names))
            .emit();
    }
}
