//! The tag of an image can move to another image.

use gpuc_kubernetes::names::{floating_tag_problem, parse_image};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::configured_images;

/// The tag of an image can move to another image.
pub(crate) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2026",
        name: "floating-tags",
        severity: Severity::Warning,
        summary: "the tag of an image can move to another image",
        checks: "Whether each image has a digest, or a tag other than `latest`.",
        reason: "Nodes that pull at different times would run different programs, and the committed tree would not
show which.",
        remedy: "Write a tag that names a version, or better a digest.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:latest"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""registry.example.com/gpuc-runtime:latest""#, r#""registry.example.com/gpuc-runtime:0.1.0""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for text in configured_images(cluster) {
        let Ok(image) = parse_image(text) else {
            continue;
        };
        let Some(problem) = floating_tag_problem(&image) else {
            continue;
        };
        let message = format!("image `{text}` {problem}");
        report
            .diagnostic(&RULE.code, text.span, message)
            .help(format!(
                "write a version as its tag, or its digest: `{}@sha256:…`",
                image.name
            ))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn images_of_pools_are_checked_and_digests_pass() {
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
            messages_with_id(&yaml, "GPUC2026"),
            [
                "image `r.example.com:5000/runtime` has no tag",
                "image `driver:latest` has the tag `latest`"
            ]
        );
    }
}
