//! An image is not the name of one.

use super::Rule;
use super::places::images;
use super::syntax::image;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An image is not the name of one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2027",
        name: "image-invalid",
        severity: Severity::Error,
        summary: "an image is not the name of one",
        explain: "### What it checks

Whether each image has the syntax of an image reference: registry, repository, tag and digest.

### Why it matters

The kubelet would never pull it: pods stay in `InvalidImageName`.

### What to do

Correct it as the help says.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "https://registry.example.com/gpuc-runtime:0.1.0"}
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
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for text in images(cluster) {
        if let Err(problem) = image(text) {
            let message = format!("`{text}` is not the name of an image");
            report
                .draft(&RULE.code, text.span, message)
                .help(problem)
                .emit();
        }
    }
}
