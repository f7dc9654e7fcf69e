//! An image may change under its name.

use super::Rule;
use super::places::images;
use super::syntax::{Image, image};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An image may change under its name.
pub(crate) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2026",
        name: "floating-tags",
        severity: Severity::Warning,
        summary: "an image may change under its name",
        explain: "### What it checks

Whether each image has a digest, or a tag other than `latest`.

### Why it matters

Nodes that pull at different times would run different programs, and the committed tree would not
say which.

### What to do

Write a tag that names a version, or better a digest.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:latest"}
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
        let Ok(image) = image(text) else {
            continue;
        };
        let Some(what) = floats(&image) else {
            continue;
        };
        let message = format!("`{text}` {what}");
        let draft = report.draft(&RULE.code, text.span, message);
        draft
            .help(format!(
                "write the version that you mean as its tag, or its digest: `{}@sha256:…`",
                image.name
            ))
            .emit();
    }
}

/// What is wrong with an image that may be another one tomorrow, in words.
pub(crate) fn floats(image: &Image<'_>) -> Option<&'static str> {
    match (image.digest, image.tag) {
        (None, None) => Some("has no tag"),
        (None, Some("latest")) => Some("is whatever is latest"),
        (None, Some("main" | "master" | "nightly" | "edge")) => Some("is whatever was built last"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn images_of_pools_count_and_digests_hold() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            stack: {{runtimeImage: 'r.example.com/runtime@{digest}'}}
            nodePools:
              - name: gpu
                hosts: [a]
                nodes: {{count: 1}}
                stack: {{runtimeImage: 'r.example.com:5000/runtime', driverImage: 'driver:latest'}}
            "
        );
        assert_eq!(
            messages(&yaml, "GPUC2026"),
            [
                "`r.example.com:5000/runtime` has no tag",
                "`driver:latest` is whatever is latest"
            ]
        );
    }
}
