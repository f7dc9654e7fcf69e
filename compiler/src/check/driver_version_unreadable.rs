//! A driver version is not one.

use gpuc_schema::gpu::cuda::DriverVersion;

use super::Rule;
use super::places::stacks;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A driver version is not one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2035",
        name: "driver-version-unreadable",
        severity: Severity::Error,
        summary: "a driver version is not one",
        explain: r#"### What it checks

Whether `driverVersion` is a branch, such as "580", or a version of one, such as "580.95.05"; or
one of the words that the cloud takes, where it installs the driver.

### Why it matters

Packages and images are found by it.

### What to do

Write a branch or a version, in quotes.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "v580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let words = cluster.cloud.facts().driver_words;
    for written in stacks(cluster).filter_map(|stack| stack.driver_version.as_ref()) {
        if DriverVersion::parse(written).is_some() || words.contains(&written.as_str()) {
            continue;
        }
        let message = format!("`{written}` is not a version of a driver");
        let draft = report.draft(&RULE.code, written.span, message);
        let help = "write a branch or a version of one, quoted: \"580\" or \"580.95.05\"";
        let help = match words {
            [] => help.to_owned(),
            words => format!("{help}; or {}", words::some(words, 4)),
        };
        draft.help(help).emit();
    }
}
